// Package ensembles makes labs and runs ZooKeeper ensembles in them.
//
// In flow: which hosts a run needs, and how its servers are to be set up. Out
// flow: a [Lab] whose hosts answer through their agents, and an [Ensemble] that
// has a leader, followers and a committed write to show for it. Whatever is done
// to a host afterwards goes through its agent; nothing here knows what a lock is.
package ensembles
