// Package curator runs Apache Curator's own locks as peers under test. A small Java program puts them behind the lock
// protocol.
//
// In flow: Curator's jars, in one of several versions, from the paths in LOCKLAB_CURATOR_JARS or Debian's packages. Out
// flow: a jar with the program, compiled when it is first needed, and the list of jars that the program needs.
// Package foreign documents the protocol.
//
// # The program
//
// One JVM serves a client process. Each session has a CuratorFramework of its own and ends with its ZooKeeper session,
// although Curator itself would go on with a new one. Each acquire has a thread from its beginning to its release,
// because Curator's locks belong to threads. All acquires of a session share one lock object for each path, as in a
// service.
//
// A downgrade follows Curator's documentation: the thread that holds the write lock acquires the read lock too, and
// then each is released by itself. Before Curator 5.5, the reader's znode is then at the end of the queue, and the next
// writer in the queue gets in beside the reader (CURATOR-621).
//
// A token is the czxid of the client's own lock node, or lease, read after the grant. If that node is gone already, the
// grant is passed on without a token, because what Curator believes is under test. Curator does not report its queue,
// so the program never answers an acquire with queued.
//
//	recipe                    Curator's class                modes
//	curator-mutex             InterProcessMutex              exclusive
//	curator-semaphore-mutex   InterProcessSemaphoreMutex     exclusive
//	curator-rw                InterProcessReadWriteLock      read, write; exclusive is write
//	curator-multi             InterProcessMultiLock          exclusive, over all paths of an acquire
//	curator-semaphore         InterProcessSemaphoreV2        permits:K/MAX; exclusive is permits:1/1; no tokens
package curator
