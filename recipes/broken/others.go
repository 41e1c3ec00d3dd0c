package broken

// Others are known bugs of locks that others made, found here in the locks themselves, and of ZooKeeper.
var Others = withScenarios([]Lock{
	{
		Name:    "zk-lock-missing-own",
		Recipe:  "zk-lock",
		Bug:     "A client that sees no lower sequence number takes the lock, whether or not its own znode is there.",
		Source:  "go-zookeeper v1.0.4, by reading and by measurement",
		Trigger: "An administrator deletes the znode of a client that waits.",
		Check:   ServiceExclusion,
		Finding: "a grant to a client whose znode was gone",
		Kinds:   []string{"grant-before-eligible", "grant-after-znode", "grant-without-znode"},
	},
	{
		Name:    "zk-lock-leaked-znode",
		Recipe:  "zk-lock",
		Bug:     "An attempt that fails after its znode was created leaves the znode in the queue.",
		Source:  "samuel/go-zookeeper #229",
		Trigger: "The connection breaks while the client lists the queue or reads the znode before its own.",
		Check:   Liveness,
		Finding: "a znode of an attempt that has ended and whose session lives",
		Kinds:   []string{"orphan"},
	},
	{
		Name:    "curator-queued-downgrade",
		Recipe:  "curator-rw",
		Bug:     "A writer that becomes a reader gets a place at the end of the queue.",
		Source:  "CURATOR-621, in Curator before 5.5",
		Trigger: "A writer waits when the holder downgrades.",
		Check:   ServiceExclusion,
		Finding: "a reader's grant behind a writer's znode",
		Kinds:   []string{"grant-before-eligible"},
	},
	{
		Name:    "curator-partial-permits",
		Recipe:  "curator-semaphore",
		Bug:     "A client acquires permits one by one, and keeps them while it waits for the next.",
		Source:  "Curator 5.4.0's InterProcessSemaphoreV2.acquire(qty), by measurement",
		Trigger: "Two clients want two of two permits each, and each has one.",
		Check:   Liveness,
		Finding: "a deadlock: each client waits for the permit that the other has",
		Kinds:   []string{"deadlock"},
	},
	{
		Name:    "curator-pause",
		Recipe:  "curator-mutex",
		Bug:     "A client that was stopped for longer than its session goes on as if it held the lock.",
		Source:  "Curator's technical note 10; every lock does this, because no client can know that it was stopped",
		Trigger: "The holder is stopped until another client holds the lock, and resumes.",
		Check:   BeliefExclusion,
		Finding: "two holders at once, which the pause explains",
		Kinds:   []string{"overlap"},
		Cause:   "pause",
	},
	{
		Name:   "zookeeper-commits-nothing",
		Recipe: "mutex",
		Bug: "After the disks of both followers have been slow for longer than the sync limit, the ensemble has a leader " +
			"and a quorum, and never commits anything again.",
		Source: "ZooKeeper 3.8.0, by measurement; perhaps ZOOKEEPER-4643 or ZOOKEEPER-4785",
		Trigger: "The leader closes its connections to both followers while proposals are under way, and they come back to " +
			"it at once.",
		Check:   ServiceLiveness,
		Finding: "a leader and two followers in step that commit nothing, by the servers' own counters",
		Kinds:   []string{"commits-nothing"},
	},
})
