// Package txnlog reads ZooKeeper's transaction logs, the servers' own word on what
// happened and in which order.
//
// In flow: the files version-2/log.<zxid> of one or several servers, as a server
// wrote them or as [Trim] left them. Out flow: a stream of [Txn] of one file
// ([Reader]) or one server ([ReadDir]), and [Merge], the transactions of an ensemble in
// zxid order with what its servers disagree on. Package nodes makes lives of znodes and sessions of them.
//
// The format is that of ZooKeeper 3.5 to 3.9, as its classes FileTxnLog, FileHeader
// and FilePadding (org.apache.zookeeper.server.persistence) write it, its
// SerializeUtils reads it back, and zookeeper.jute and BinaryOutputArchive lay out the
// records of org.apache.zookeeper.txn:
//
//	file   = "ZKLG" version:int=2 dbid:long record* zero*
//	record = adler32(payload):long len:int payload 'B'
//	payload = TxnHeader body TxnDigest?
//	TxnHeader = session:long cxid:int zxid:long time:long type:int
//	TxnDigest = version:int digest:long       (since 3.6, unless switched off)
//
// Numbers are big endian. A file grows in steps of zeros before records are written
// into them, so zeros are where a log ends. A server that dies in the middle of a write
// leaves the record torn; it never acknowledged that one, and begins another
// file when it starts again.
package txnlog
