// Package advice says which session timeout to choose.
//
// In flow: the pauses of a process, from a JVM's unified GC log, from a run's hiccups, or as quantiles ([Read]), and
// what the lock's clients are like ([Config]). Out flow, by [Advise]: for each session timeout how often a year
// sessions expire although their clients live, how often a guard lets a client that has lost its lock use it
// nevertheless, how long nothing progresses after a holder's crash, and the timeout that costs least.
//
//  1. The pauses that were seen are the distribution: pauses of other lengths do not exist for the model, and of longer
//     ones than the longest nothing is said but an upper limit. What one process cannot have had is refused: pauses
//     that are longer than the time that was watched, or a log whose lines contradict their own times.
//  2. A pause ends a session if the servers hear of its client too late. By the definition of [check.Expiry], the
//     session expires at 2/3 T and three independent delays after the pause began, each of which is evenly distributed:
//     up to T/3 since the last ping, up to half a tick until the follower's report, and up to a tick until the leader's
//     next look. So it expires within 2/3 T and T + 1.5 ticks. If the client has had no answer for 2/3 T after
//     the pause, it connects again, and the servers hear of it after a time that is evenly distributed up to
//     [Config].Reconnect.
//  3. Rates are sums over the pauses, each with the probability that it does harm. Their intervals are those of a
//     weighted sum of Poisson counts, see [Rate].
//
// Nothing here looks at a clock or at ZooKeeper.
package advice
