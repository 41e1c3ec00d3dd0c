// Package hiccups measures how long a process is held up by what it is not measuring: a
// machine with too few processors, a collector of garbage, a hypervisor. It is jHiccup's way:
// a goroutine that sleeps for 10 ms again and again and notes by how much each sleep is too
// long. A latency that is not above these times says nothing about what was waited for.
//
// In flows nothing. Out flow two kinds of events: one [history.OpHiccup] for each
// long overshoot, as it is known, and one [history.OpHiccups] with the distribution of all
// others. The long ones have events of their own because the one who sets a process going
// after a fault's stop is not the machine: whoever reads the history knows when the process
// was stopped, and leaves out those that the stop made. No fault's stop is shorter than [Long].
package hiccups
