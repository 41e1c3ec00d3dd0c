// Package foreign drives locks that are not written in Go, or that are not part of this project. Such a lock is a
// command that speaks the lock protocol, which PROTOCOL.md specifies.
//
// In flow: requests for sessions and locks, by [Driver.Open] and [Session.Lock]. Out flow: lines to the command and,
// from its answers, [recipes.Hold] values and changes of the session. A client process uses such a lock as it uses one
// in Go; see package client.
//
// A command runs in the process group of the client process, so a fault that stops or kills a client process stops or
// kills its lock too. A broken command is killed, its holds count as lost, and the run ends with [ErrBroken] and says
// what the command did.
package foreign
