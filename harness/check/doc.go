// Package check says what a run's history proves.
//
// In flow the merged events of a run ([history.Event]) and the [Facts] that
// verdicts depend on: what the recipe promises, the session timeout, which
// faults were planned, what the scenario expects, and what the servers' transaction
// logs say ([ServerLog]). Out flow a [Report]: one
// [Verdict] per check with its evidence, the safety numbers, the faults as they
// really happened, and the run's overall result.
//
// The opinions behind it:
//
//   - Results are three-valued, and fail > unknown > pass. What was not reached,
//     not recorded or not understood is unknown. A checker that panics is unknown.
//   - The safety checks judge the whole run, warm-up and drain included. Only
//     the adequacy check (assumptions) looks at the measured window.
//   - What a client believed, what the service granted and what the resource
//     saw are judged apart. An overlap of beliefs is no bug by itself; one that
//     no fault explains is.
//   - What the servers' transactions say counts more than what anybody was told, where
//     they are whole; where they are not, nothing passes on their word.
//   - Every check is O(n log n) in the history, plus the number of overlapping
//     pairs it has to explain; a Finding keeps only the few events that prove it.
//
// There is one check per file. It is a function of the history and the facts
// alone, so an old run can be judged again.
package check
