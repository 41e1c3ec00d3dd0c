package workloads

import "time"

// The ways to end the acquisitions that wait when the work ends.
const (
	DrainFinish = "finish" // a waiting client is still granted the lock, within [DrainCap]
	DrainCancel = "cancel" // its acquisition is cancelled, and counted as censored
)

// DrainCap is how long after the end a client may go on waiting, because a lock may never be granted again.
const DrainCap = 30 * time.Second

// A Load is what clients ask of the locks and when: the part of a scenario that every client process is given as it is.
// Its tags are those of package settings and of scenarios.
type Load struct {
	// ReadShare of the acquisitions read, and DowngradeShare of the writers go on as readers.
	ReadShare float64 `json:"read_share" key:"read-share" scenario:"workload=read-write" min:"0" max:"1"`

	DowngradeShare float64 `json:"downgrade_share" key:"downgrade-share" scenario:"workload=read-write" min:"0" max:"1"`

	// Permits is how many permits a semaphore has, and Resize is another number that it changes to and back. Units is
	// how many permits an acquisition takes.
	Permits int    `json:"permits" key:"permits" scenario:"workload=semaphore" min:"1" max:"10000"`
	Resize  Resize `json:"resize" key:"resize" scenario:"workload=semaphore,omitempty"`
	Units   int    `json:"units" key:"units" scenario:"workload=semaphore" min:"1" max:"10000"`

	// LocksAtOnce is how many locks an acquisition of several takes, drawn each time. If Ordered, every client
	// takes them in the same order.
	LocksAtOnce int `json:"locks_per_acquire" key:"locks-per-acquire" scenario:"workload=multi-lock" min:"1" max:"10000"`

	Ordered bool `json:"ordered" key:"ordered" scenario:"workload=multi-lock"`

	// Wait is how long an acquire may take; 0 = as long as it takes. If Try, an acquire is given up once the client
	// knows that it would have to wait.
	Wait time.Duration `json:"wait_ns" key:"wait" scenario:"omitempty" min:"0" max:"24h"`
	Try  bool          `json:"try,omitempty" key:"try" scenario:"omitempty"`

	LockChoice Choice `json:"lock_choice" key:"lock-choice"`
	// Hold is the time between the two accesses of a critical section, and Think is the time between a release and the
	// next acquire.
	Hold  Distribution `json:"hold" key:"hold"`
	Think Distribution `json:"think" key:"think"`

	// Term, if set, is how long a client keeps what it holds, as a leader does: it goes through critical sections, one
	// after the other, until then, or until it is told that it has lost its hold. 0 = one critical section.
	Term time.Duration `json:"term_ns,omitempty" key:"term" scenario:"workload=mutex,omitempty" min:"0" max:"24h"`

	// DieShare of the acquisitions end with the death of their client: it neither releases nor closes its session, so what
	// it holds stays until the servers expire that. It goes on in another session.
	DieShare float64 `json:"die_share,omitempty" key:"die-share" scenario:"omitempty" min:"0" max:"1"`

	// Arrivals is how work arrives; empty = [Closed].
	Arrivals string `json:"arrivals,omitempty" key:"arrivals" enum:"closed,poisson,uniform"`
}

// The workloads: which kinds of holds clients want.
const (
	Mutex     = "mutex"      // exclusive holds
	ReadWrite = "read-write" // holds that readers share, and exclusive holds of writers
	Semaphore = "semaphore"  // holds of some of the permits
	MultiLock = "multi-lock" // holds of several locks at once
)

// All lists the workloads.
var All = []string{Mutex, ReadWrite, Semaphore, MultiLock}

// A Resize changes a number to To and back at each interval Every. The zero value changes nothing.
type Resize struct {
	To    int           `json:"to,omitempty"`
	Every time.Duration `json:"every_ns,omitempty"`
}

// MaxElements is how many elements the resource's lists may have, over all locks of a run: 16 MiB of memory, and a
// history that can be judged in seconds. A run that reaches this number ends there.
const MaxElements = 1 << 20
