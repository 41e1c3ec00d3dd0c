// Package nodes makes of an ensemble's transactions what a lock's verdict needs: the lives of
// znodes and sessions, and who was eligible when.
//
// In flow: committed transactions in zxid order, of package txnlog. Out flow: a
// [History], in which a znode is found by path, czxid or the GUID in its name, and
// of it, for one lock, a [Lane]: from which transaction to which each contender
// was eligible by the lock's [Rule]. Everything is a pure function of the transactions.
//
// Order is by zxid. Times are the leader's wall clock in ms at the moment it prepared the
// transaction, which is before any server applied it.
package nodes
