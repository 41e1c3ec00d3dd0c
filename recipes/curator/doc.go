// Package curator runs Apache Curator's own locks as peers under test: a small Java
// program that puts them behind the lock protocol.
//
// In flow: Curator's jars, of Debian's package or wherever LOCKLAB_CURATOR_JARS says.
// Out flow: a jar with the program, compiled when it is wanted, and the list of jars that it
// takes to run it. The protocol itself is documented with its Go side.
//
// # The program
//
// One JVM serves a client process; each session has a CuratorFramework of its own, and
// ends with its ZooKeeper session: Curator would go on with a new one. Each acquire has a
// thread from its beginning to its release, for Curator's locks belong to threads, and all
// acquires of a session share one lock object for each path, as in a service.
//
// A downgrade is done as Curator's documentation has it: the thread that holds the write lock
// acquires the read lock too; each is released by itself. Before Curator 5.5 the reader's znode is then at the
// end of the queue, and the writer that comes next in it gets in beside the reader (CURATOR-621).
//
// A token is the czxid of the client's own lock node, or lease, read after the grant. If
// that node is gone already, the grant is passed on without a token: what Curator
// believes is what is under test. Curator does not say what its queue looks like, so
// no acquire is queued.
//
//	recipe                    Curator's class                modes
//	curator-mutex             InterProcessMutex              exclusive
//	curator-semaphore-mutex   InterProcessSemaphoreMutex     exclusive
//	curator-rw                InterProcessReadWriteLock      read, write; exclusive is write
//	curator-multi             InterProcessMultiLock          exclusive, over all paths of an acquire
//	curator-semaphore         InterProcessSemaphoreV2        permits:K/MAX; exclusive is permits:1/1; no tokens
package curator
