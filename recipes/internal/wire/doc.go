// Package wire is a dialer for tests that understands ZooKeeper's frames: it counts requests,
// loses one or its reply, plays a server that is mute, and kills sessions for real.
//
// In flow the requests of one session, by way of a dial function; out flow the same to a
// real server, except for those that the test loses.
package wire
