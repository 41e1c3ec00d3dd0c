// Package nodes derives from an ensemble's transactions what a verdict on a lock needs: the lives of znodes and
// sessions, and which contender was eligible when.
//
// In flow: committed transactions of package txnlog, in zxid order. Out flow: a [History], in which a znode is found by
// its path, its czxid or the GUID in its name, and for each lock a [Lane], which says from which transaction to which
// each contender was eligible by the lock's [Rule].
//
// Everything is a pure function of the transactions. Order is by zxid. Times are in ms and read from the leader's wall
// clock when it prepared the transaction, which is before any server applied it.
package nodes
