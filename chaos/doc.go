// Package chaos does harm to a lab, proves that it was done, undoes it, and
// proves that too.
//
// In flow: a lab's hosts and a schedule of faults. Out flow: what was done to
// which host and when, through a [Journal]. Each fault is a file; all of them work
// through the hosts' agents, so they are the same on every kind of lab.
package chaos
