package workloads

// The workloads: which holds of a lock there are.
const (
	Mutex     = "mutex"      // exclusive ones
	ReadWrite = "read-write" // of readers, together, and of writers, alone
	Semaphore = "semaphore"  // of some of the permits
	MultiLock = "multi-lock" // of several locks at once
)

// All are the workloads.
var All = []string{Mutex, ReadWrite, Semaphore, MultiLock}
