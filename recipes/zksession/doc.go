// Package zksession provides one ZooKeeper session, hardened for locks.
//
// In flow: a list of servers, for [Connect]. Out flow: the answers of one session, through the one interface
// [ZooKeeper] that the recipes know, which a simulated service can implement as well.
//
// [Connect] ties a zk.Conn to exactly one session: it dies with it, and nothing is ever executed under a successor. A
// request is cut short by its context, an answer that does not certainly mean "no effect" is ErrConnectionLoss,
// handshakes are bounded, servers are tried in the caller's order, and buffers are only as large as what is sent. An
// answer that is too large is an error of its own, a connection that breaks at once is not made again without a pause,
// and a watch that the server refuses to set again fires.
//
// [ConnectPlain] gives what most published locks use instead: a zk.Conn that makes another session when
// one has expired. zk.Lock and the negative controls of package broken are built on it.
package zksession
