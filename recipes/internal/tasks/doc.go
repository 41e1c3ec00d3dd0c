// Package tasks runs goroutines that have an owner, which waits for them.
//
// In flow functions; out flow their results, or the end of the context that did not wait for them.
package tasks
