// Package ensembles makes labs and runs ZooKeeper ensembles in them.
//
// In flow: the hosts that a run needs, a [Kind] of lab to make them in, and the configuration of the servers. Out flow:
// a [Lab] whose hosts answer through their agents, and an [Ensemble] that has a leader, followers and a committed write
// through each server.
//
// Later changes to a host go through its agent. This package knows nothing of locks, and nothing of what hosts are made
// of: the kinds of labs are packages below it, and package labs chooses one.
package ensembles
