// Package evidence is what a run's record shows of the things that all checks ask about: holds, sessions, faults, the
// servers' transactions, standstills, and how certain their times are.
//
// In flow: a history and the facts of its run. Out flow: a [Digest] of them, explanations of what was found by faults,
// and the types of verdicts and findings. Nothing here judges.
package evidence
