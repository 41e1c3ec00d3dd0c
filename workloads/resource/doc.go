// Package resource is the service that the locks of a run protect: a counter (or a list) a
// lock, with guards. It is the witness of damage.
//
// In flow: enter, read, write and exit from clients, each with the token of the
// hold it is done under. Out flow: the answers, and a record of its own in its
// history, whose order is the order in which accesses took effect.
package resource
