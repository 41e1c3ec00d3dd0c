package workloads

// The workloads: which kinds of holds clients want.
const (
	Mutex     = "mutex"      // exclusive holds
	ReadWrite = "read-write" // holds that readers share, and exclusive holds of writers
	Semaphore = "semaphore"  // holds of some of the permits
	MultiLock = "multi-lock" // holds of several locks at once
)

// All lists the workloads.
var All = []string{Mutex, ReadWrite, Semaphore, MultiLock}
