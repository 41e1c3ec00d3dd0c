// Package txnlog reads ZooKeeper's transaction logs, which record what the servers did and in which order.
//
// In flow: the files version-2/log.<zxid> of one or several servers, as a server wrote them or as [Trim] left them. Out
// flow: the [Txn] stream of one file ([Reader]) or one server ([ReadDir]), or the transactions of a whole ensemble in
// zxid order with the differences between its servers ([Merge]). Package nodes derives the lives of znodes and sessions
// from them.
//
// The format is that of ZooKeeper 3.5 to 3.9. Its classes FileTxnLog, FileHeader and FilePadding
// (org.apache.zookeeper.server.persistence) write it, SerializeUtils reads it, and zookeeper.jute and
// BinaryOutputArchive define the records of org.apache.zookeeper.txn:
//
//	file   = "ZKLG" version:int=2 dbid:long record* zero*
//	record = adler32(payload):long len:int payload 'B'
//	payload = TxnHeader body TxnDigest?
//	TxnHeader = session:long cxid:int zxid:long time:long type:int
//	TxnDigest = version:int digest:long       (since 3.6, unless switched off)
//
// Numbers are big endian. A server extends a file with zeros before it writes records into them, so a log ends where
// the zeros begin. A server that dies during a write leaves a torn record. It never acknowledged that record, and it
// begins another file when it starts again.
package txnlog
