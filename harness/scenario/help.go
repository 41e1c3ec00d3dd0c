package scenario

// help says in half a sentence what each scalar key means, with units.
var help = map[string]string{
	"name":    "name of the scenario, and the beginning of the name of its run directory",
	"about":   "the question that the run answers, in one sentence",
	"answers": "the reader who asks that question: planner, ci, designer",
	"lab":     "kind of lab",
	"connect": "an ensemble to run on that is already there: host:port, more with commas, and perhaps a /chroot; " +
		"clients are then processes of this machine",
	"connect-ca": "with connect: PEM file of the authorities that sign the servers' certificates, or system for those " +
		"that this machine trusts; connections then use TLS",
	"connect-cert": "with connect: PEM file of the certificate that clients show to the servers",
	"connect-key":  "with connect: PEM file of that certificate's key",
	"connect-auth": "with connect: where the digest credential user:password is: file:PATH or env:NAME",
	"txnlog-dir": "with connect: the dataLogDir of each server, as this machine sees it, in connect's order with " +
		"commas; a majority suffices to judge service-exclusion",
	"max-rate": "with connect: acquisitions per second above which a run needs --yes",
	"max-latency": "with connect: the run ends itself once the servers take longer than that to commit a write of its " +
		"own, three times in a row",
	"seed":     "seed of all random choices: it reproduces the plan, not the interleaving; 0 draws one",
	"workload": "the kinds of holds that clients want",
	"recipe": "lock algorithm, or several with commas, which are dealt to the client processes; or exec: and a " +
		"command that speaks the lock protocol",
	"client-image": "image of the clients' hosts, if the recipe is a command",
	"layout": "the znodes by which the clients of a command contend: queue, read-write, textbook, semaphore, znode, or " +
		"a pattern such as __lock__#",
	"guard":               "how the resource is protected from a client that has lost the lock",
	"clients":             "clients in total",
	"clients-per-session": "clients that share a session, with recipes of this library; 0 means 1",
	"placement": "servers that clients connect to: spread over all, or first the leader at the start, or first the " +
		"followers; with own-follower, each client knows one follower and no other server",
	"section": "what a holder does: read and write the lock's counter at the resource, append to its list, " +
		"or only hold",
	"client-processes":  "client processes c1…cN, each on a host of its own",
	"victim-alone":      "process c1 runs exactly one client, and the others share the rest",
	"victims":           "with victim-alone: how many processes, c1 first, run exactly one client; 0 means 1",
	"locks":             "locks",
	"read-share":        "share of acquisitions that read, 0 to 1",
	"downgrade-share":   "share of writers that become readers before they release, 0 to 1",
	"permits":           "permits of each semaphore",
	"resize":            "another number of permits, and how often it changes between the two numbers, such as 8 every 2s",
	"units":             "permits of each acquisition",
	"locks-per-acquire": "locks of each acquisition, drawn each time",
	"ordered": "all clients take locks in the same order; otherwise each takes them in an order of its own, " +
		"which may deadlock",
	"wait": "time after which a client gives up an acquire; 0 means never",
	"try":  "a client gives up an acquire once it knows that it would have to wait",
	"lock-choice": "how clients choose among the locks: uniform, zipf(1.1) for a few hot ones, or dealt, which gives " +
		"each client one lock in turn",
	"hold": "time between read and write (or the two reads) of a critical section: 5ms, exponential(5ms), " +
		"uniform(1ms..9ms) or log-normal(5ms, 0.5)",
	"term": "time for which a client keeps what it holds, and repeats its critical section unless it has lost the lock; " +
		"0 means one critical section",
	"think": "time between a release and the next acquire, in the same forms as hold",
	"arrivals": "whether each client asks again when it is done (closed), or acquisitions are due at a rate, " +
		"even if no client is free",
	"rate": "acquisitions due per second over all clients: 100, a ramp 100..400 over the measured window, " +
		"or steps 100,200,400",
	"max-in-flight": "most acquisitions under way at once; others that are due are dropped; 0 means one per client",
	"queue": "acquisitions that are due and wait while all clients are busy, before further ones are dropped; their " +
		"time counts from when they were due",
	"warmup":              "time before the measured window",
	"duration":            "length of the measured window",
	"iterations":          "acquisitions of each client; replaces duration",
	"drain":               "what happens to waiters at the end",
	"session-timeout":     "session timeout that clients ask for",
	"tick":                "the servers' tickTime",
	"min-session-timeout": "the servers' lower limit on session timeouts; 0 means 2 ticks",
	"max-session-timeout": "the servers' upper limit on session timeouts; 0 means 20 ticks",
	"sync-limit": "ticks that a server may lag behind the leader, and for which a leader that is cut off goes on " +
		"serving",
	"servers": "ZooKeeper servers: 1, 3 or 5; with connect, as many as it names",
	"zookeeper": "the servers' ZooKeeper: the number of a version that locklab image builds, an image, a directory of " +
		"this machine (which begins with / or ./), or default; several with commas are dealt to the servers in turn",
	"storage": "where servers keep their logs",
	"jvm":     "how each server's JVM is set up: for a lab, or as in production (G1, both compilers)",
	"heap":    "heap of each server's JVM",
	"schedule": "where faults come from: the list faults (explicit); also the seed (random); or also the seed, which " +
		"then draws their kinds and rate as well (swarm)",
	"fault-interval": "mean time between the beginnings of two random faults",
	"fault-length":   "how long random faults last: one length, or a range such as 0.5T..expiry+1s",
	"fault-kinds": "kinds of random faults, with weights: pause:3,kill; if not given, all that this machine can " +
		"inject",
	"liveness": "how long clients go on when all faults are healed, so that each can make progress; auto means as " +
		"long as that takes, and 0 without faults",
	"observer":     "watch the lock's queue from a host of its own",
	"min-acquired": "fewest acquisitions that the run must have; with fewer, it is unknown",
}
