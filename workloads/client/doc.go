// Package client is the client process: goroutines with a ZooKeeper session each
// that contend for locks and use what the locks protect.
//
// In flow: a [Config], then commands on standard input (see [Command]). Out flow:
// a history. The process never decides about a run: it connects, says that it is
// ready, waits for the start, works until the window closes, drains and ends.
//
// What a lock protects is a counter or a list at the resource, or, with [GuardZKMulti], a counter in ZooKeeper. What
// nobody else has a record of is read once more when all clients are done, and told in the history.
//
// In a closed loop each client asks again when it is done. In an open one a dispatcher hands each
// arrival of the process to a client that is free when it is due, and records those that find none.
//
// A client draws a want, gets a grant of it from its recipe's source, goes through the
// critical section of its mode, and releases it. A recipe is a source of its own
// kind if it brings a session of its own: package recipes' share one kind, those in
// commands another.
package client
