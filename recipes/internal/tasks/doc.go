// Package tasks runs goroutines that have an owner, which waits for them.
//
// In flow: functions. Out flow: their results, or the end of the context that did not wait for them.
package tasks
