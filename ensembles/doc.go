// Package ensembles makes labs and runs ZooKeeper ensembles in them.
//
// In flow: the hosts that a run needs and the configuration of its servers. Out flow: a [Lab] whose hosts answer
// through their agents, and an [Ensemble] that has a leader, followers and a committed write through each server.
//
// Later changes to a host go through its agent. This package knows nothing of locks.
package ensembles
