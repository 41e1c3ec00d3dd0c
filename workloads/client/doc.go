// Package client is the client process: goroutines with a ZooKeeper session each that contend for locks and use what
// the locks protect.
//
// In flow: a [control.ClientConfig], then commands on standard input. Out flow: a history. The process never
// decides about a run: it connects, says that it is ready, waits for the start, works until the window closes, drains
// and ends.
//
// What a lock protects is a counter or a list at the resource, or, with [guard.ZKMulti], a counter in ZooKeeper. Values
// that are recorded nowhere else are read once more when all clients are done, and recorded in the history.
//
// In a closed loop each client asks again when it is done. In an open loop a dispatcher hands each arrival of the
// process to a client that is free when it is due, and records the arrivals that find none.
//
// A client draws what it wants, gets a grant of it from its recipe's source (package lock), goes through the critical
// section of its mode, and releases it.
package client
