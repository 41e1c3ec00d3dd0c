// Package check decides what a run's history proves.
//
// The merged events of a run ([history.Event]) flow in, with the [Facts] that verdicts depend on: what the
// recipe promises, the session timeout, which faults were planned, what the scenario expects, and what the servers'
// transaction logs say ([ServerLog]). A [Report] flows out: one [Verdict] per check with its
// evidence, the safety counters, the faults as they really happened, and the run's overall result.
//
// The principles behind it:
//
//   - Results are three-valued, and fail beats unknown beats pass. A result is unknown where
//     the run did not reach, record or explain what the check needs. A check that panics is unknown.
//   - The safety checks judge the whole run, including warm-up and drain. Only the check of the run's assumptions
//     looks at the measured window.
//   - What a client believed, what the service granted and what the resource saw are judged apart. An overlap of
//     beliefs is not a bug by itself; one that no fault explains is.
//   - Where the servers' transactions are complete, they count more than what a client was told. Where they are not,
//     nothing passes because of them.
//   - Every check takes O(n log n) in the history, plus the number of overlapping pairs that it has to explain. A
//     Finding keeps only the few events that prove it.
//
// Each check is in a file of its own with its [Check], here or in a package below; [All] is the list of them. A check
// is a function of the history and the facts alone, so an old run can be judged again.
//
// Below this package, which other packages use alone:
//
//   - evidence has what several checks ask about. digest.go sorts the history, serverlog.go places the servers'
//     transactions beside it, and witness.go finds the znodes of each grant in them. fault.go puts the faults of a run
//     together, silence.go says what ended a session and when its client must have learned of that, and
//     explanation.go explains overlaps of holds by it.
//   - effect judges the data that the lock protects, and attributes damage to explained overlaps.
//   - progress judges liveness, of the lock and of the servers.
//   - Exclusion, tokens and fairness are judged here.
package check
