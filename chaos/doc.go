// Package chaos has every kind of fault. It injects a fault into a lab, verifies that the fault took effect, heals
// it, and verifies that too.
//
// In flow: a lab's hosts and a schedule of faults. Out flow: which fault struck which host and when, through a
// [Journal]. A kind of fault has a file of its own, with what it does, its keys, its targets, how it is drawn at
// random, checked and injected. Faults work through the hosts' agents.
package chaos
