// Package sim executes clients, with the goroutines that they have, on virtual time, one step after another.
//
// In flow: hosts with their code, and what is to happen at which instant. Out flow: the same sequence of events for the
// same seed. Package zktest has an ensemble of ZooKeeper servers that runs on it.
//
// # One step at a time
//
// Locks are blocking code with goroutines, channels and contexts, and so is the client of ZooKeeper below them. To
// rewrite them for a simulation would test other code than users run. So they run as they are, in a bubble of
// testing/synctest, which has a virtual clock and knows when all goroutines in it are blocked. The kernel is one of
// these goroutines. It gives a host one stimulus (bytes on a connection, a timer that is due, the end of a pause),
// waits until everybody is blocked again, collects what the host has sent in the meantime, draws from the seed how long
// each message takes, and goes on with the next instant. So at any time at most one host is running, and nothing
// depends on which of two hosts the scheduler prefers.
//
// Within a host, goroutines that one stimulus wakes run at the same time as they do in production, but each asks for
// its turn before it sends a request ([Host.Turn]), and gets it when all others are blocked, in the order of the
// requests' names. The bytes that a host sends at one instant travel as one burst, and it reads what it gets one frame
// after the other. What remains is a select with two cases that one stimulus makes ready, and a mutex that several
// goroutines wait for. The tests of harness/simulate find these by hashes of all events.
//
// synctest offers its bubbles to tests only. [Run] gives it a testing.T of its own that belongs to no test, which is
// all that it needs: it reports failures by panics, and nothing here uses the T.
//
// # Pauses
//
// A paused host gets no stimulus: no byte, no timer of [Host.AfterFunc], no end of [Host.Sleep]. Its code runs in no
// virtual time, so it stands still between two stimuli, while the time of all others goes on. What the client of
// ZooKeeper times by itself, its pings above all, is code of the library that it is made of. It may write while its
// host is paused, but what it writes stays in the host until the pause is over.
package sim
