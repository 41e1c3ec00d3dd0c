// Package wire is a dialer for tests that understands ZooKeeper's frames: it counts requests,
// loses one or its reply, plays a server that is mute, and kills sessions for real.
//
// In flow: the requests of one session, which arrive on the connections of a dial function. Out flow: the same requests
// to a real server, except for those that the test loses.
package wire
