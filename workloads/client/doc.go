// Package client is the client process: goroutines with a ZooKeeper session each
// that contend for locks and use what the locks protect.
//
// In flow: a [Config], then commands on standard input (see [Command]). Out flow:
// a history. The process never decides about a run: it connects, says that it is
// ready, waits for the start, works until the window closes, drains and ends.
package client
