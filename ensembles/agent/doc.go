// Package agent is the first process on every host of a lab, and the harness's
// end of the line to it.
//
// An agent starts, pauses, kills and restarts its host's one process, applies
// and clears network rules in the host's own network namespace, stamps when it
// did so, asks its ZooKeeper server for its role and counters, streams histories
// and serves files. In flow HTTP requests that carry the run's secret; out flow
// replies stamped with CLOCK_MONOTONIC, history frames and files.
//
// An agent lives on a lease ([Config].Lease) that the harness renews. When the
// lease lapses it clears its rules, kills its process and exits, which makes its
// container remove itself: a SIGKILL of the harness leaves nothing behind.
package agent
