// Package remote is the way to an ensemble that locklab did not start.
//
// In flow: a connection string, files for TLS and a credential. Out flow: connections to the servers, what the ensemble
// grants and allows ([Access.Inspect]), and a path of its own for one run ([Access.MakePath]).
//
// It changes nothing but paths that it made itself. Such a path bears a mark, and as long as its run lasts it has an
// ephemeral znode, by which [Access.Clean] tells it from what a killed run has left.
package remote
