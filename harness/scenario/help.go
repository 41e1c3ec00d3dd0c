package scenario

// help says in half a sentence what each scalar key means, with units.
var help = map[string]string{
	"name":     "name of the scenario and of its run directory",
	"about":    "the question that the run answers, in one sentence",
	"answers":  "the reader who asks it: planner, ci, designer",
	"lab":      "kind of lab",
	"seed":     "reproduces the plan, not the interleaving; 0 draws one",
	"workload": "which kinds of holds clients want",
	"recipe": "lock algorithm, or several with commas, dealt to the client processes; or a file that is one " +
		"behind the lock protocol",
	"client-image": "image of the clients' hosts, where the recipe is a command",
	"layout": "by which znodes the clients of a command contend: a name from the table of recipes, or a pattern such as " +
		"__lock__#",
	"guard":   "how the resource is protected from a client that has lost the lock",
	"clients": "clients in total",
	"sequence-left": "sequential znodes that the locks' directories can still number when the run begins; 0 is as " +
		"many as there are",
	"clients-per-session": "clients that share a session of ours; 0 is one",
	"placement": "servers that sessions are made with: spread over all, or pinned to the leader at the start, " +
		"or to the followers",
	"section": "what a holder does: read and write the lock's counter at the resource, append to its list, " +
		"or only hold",
	"client-processes":  "client processes c1…cN, each on a host of its own",
	"victim-alone":      "process c1 runs exactly one client, and the others share the rest",
	"locks":             "locks",
	"read-share":        "share of acquisitions that read, 0 to 1",
	"read-burst":        "time in which all acquisitions read, and how often it comes, such as 500ms every 5s",
	"downgrade-share":   "share of writers that go on as readers, 0 to 1",
	"permits":           "permits of each semaphore",
	"resize":            "another number of permits, and how often it changes between the two, such as 8 every 2s",
	"units":             "permits of an acquisition",
	"locks-per-acquire": "locks of an acquisition, drawn each time",
	"ordered": "all clients take locks in the same order; otherwise each takes them in an order of its own, " +
		"which may deadlock",
	"wait":        "time after which an acquire is given up; 0 is never",
	"try":         "an acquire is given up once the client knows that it would have to wait",
	"lock-choice": "which locks are asked for how often: uniform, or zipf(1.1) for a few hot ones",
	"hold": "time between read and write (or the two reads) of a critical section: 5ms, exponential(5ms), " +
		"uniform(1ms..9ms) or log-normal(5ms, 0.5)",
	"think": "time between a release and the next acquire, in the same forms as hold",
	"arrivals": "whether a client asks again when it is done (closed), or acquisitions are due at a rate, " +
		"whether or not a client is free",
	"rate": "acquisitions due per second over all clients: 100, a ramp 100..400 over the measured window, " +
		"or steps 100,200,400",
	"max-in-flight": "acquisitions under way at once, beyond which one that is due is dropped; 0 is one for each " +
		"client",
	"warmup":              "time before the measured window",
	"duration":            "length of the measured window",
	"iterations":          "acquisitions of each client, instead of a duration",
	"drain":               "what happens to waiters at the end",
	"session-timeout":     "session timeout that clients ask for",
	"tick":                "the servers' tick",
	"min-session-timeout": "the servers' lower limit; 0 is 2 ticks",
	"max-session-timeout": "the servers' upper limit; 0 is 20 ticks",
	"init-limit":          "ticks a server may take to join its leader",
	"sync-limit":          "ticks a server may lag, and a leader that is cut off goes on serving",
	"servers":             "ZooKeeper servers",
	"storage":             "where servers keep their logs",
	"heap":                "heap of each server's JVM",
	"schedule": "where faults come from: what faults says, or that and random ones from the seed; a swarm " +
		"draws their kinds and rate as well",
	"fault-interval": "mean time between the beginnings of two random faults",
	"fault-length":   "how long random faults last: 0.5T..expiry+1s, or one length",
	"fault-kinds": "kinds of random faults, with weights: pause:3,kill; all that this machine can do if not " +
		"given",
	"liveness": "how long clients work on when all faults are healed, so that progress can be demanded of " +
		"each; auto is as long as it takes, and 0 without faults",
	"observer":     "watch the lock's queue from a host of its own",
	"min-acquired": "least number of acquisitions for the run to say anything",
}
