// Package serve is the agent itself: the first process on every host of a lab.
//
// In flow: HTTP requests that carry the host's secret. Out flow: changes to the host's one process and to its own
// network namespace, and replies, histories and files for the harness.
//
// An agent starts, pauses, kills and restarts its host's process, applies and clears network rules, and records in its
// own history when it did so. It also asks its ZooKeeper server for its role and counters.
//
// An agent lives on a lease ([Config].Lease) that the harness renews. When the lease lapses, the agent clears its
// rules, kills its process and exits, and the engine removes its container. So a SIGKILL of the harness leaves nothing
// behind. A harness that only stands still keeps its connections and, for a minute, its lab.
package serve
