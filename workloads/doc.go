// Package workloads says which clients want which lock, when and for how long.
//
// It holds the built-in scenarios; what says when work arrives (a [Pacer] and the [Arrivals] drawn from
// it), how long it takes (a [Distribution]) and what it wants (a [Choice]), all pure functions of time,
// a seed and nothing else; and, below it, the two processes that a
// workload runs in a lab: package client, whose clients contend for locks and use
// what they protect, and package resource, which is what they protect. In flow: a
// configuration file each and commands on standard input; out flow: their
// histories.
package workloads
