// Package history is what happened in a run: events on one monotonic clock,
// the recorder that a SIGKILL cannot make forget, and the readers of what it
// wrote.
//
// In flow the events of every process of a lab (clients, the resource, agents,
// the harness); each process writes its own with a [Recorder]. Out flow, merged
// by time, the [Event] list that checks and reports read, and the
// [Acquisition] list derived from it.
//
// It is a leaf: it imports only the standard library, so that every process of
// a run can record without dragging in anything else.
package history
