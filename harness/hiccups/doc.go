// Package hiccups measures how long a process is held up by anything except what is being measured: too few
// processors, a garbage collector, a hypervisor. It works as jHiccup does: a goroutine sleeps for 10 ms again and
// again, and notes by how much each sleep is too long. A latency below these times says nothing about the lock.
//
// Nothing flows in. Two kinds of events flow out: a [history.OpHiccup] for each long overshoot, as soon as it is
// known, and one [history.OpHiccups] with the distribution of all others. The long ones have events of their own
// because a process also oversleeps when a fault has stopped it. A reader of the history knows when the process was
// stopped, and leaves out those that the stop caused. No fault stops a process for less than [Long].
package hiccups
