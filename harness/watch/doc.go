// Package watch knows the state of a run while it lasts: who holds a lock, who waits, and who is connected.
//
// In flow: the histories of all processes, as they are streamed. Out flow: answers for faults that look for a target,
// conditions to wait for, and a [Progress] for the display.
package watch
