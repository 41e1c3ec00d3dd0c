// Package secondopinion asks Porcupine, a checker of linearizability, the questions that package check answers by its
// own sweep, and says where the two disagree.
//
// In flow: a run's events, the facts about it and the sweep's report. Out flow: an [Opinion] for each question about
// each lock, or about a window around a finding where a lock has more operations than Porcupine can judge.
//
// A disagreement proves that one of the two judges is wrong, never which one. Porcupine judges what happened, and not
// what explains it: an overlap that a fault explains is an overlap to both.
//
// The judges share the reading of the events ([history.Acquisitions]), and nothing else.
package secondopinion
