// Package timeline draws who held a lock when, around what a run is about.
//
// In flow: a judged run. Out flow: the timelines that its report and the live page show, each of a scene: a finding, a
// fault, the first holds, or an overview of the whole run.
package timeline
