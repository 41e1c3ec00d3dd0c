package result

import (
	"slices"

	"locklab/harness/check/counters"
	"locklab/reports/measure"
)

// The losses that are accepted by default. A tail changes more from run to run than a median does, and smaller losses
// of it could not be told from chance.
var (
	likeMedian = Comparison{Tolerance: 0.05}
	likeTail   = Comparison{Tolerance: 0.25}
)

// clockNoise is the least difference of a latency that counts. Smaller ones are due to the clock and the scheduler.
const clockNoise = 20e3 // ns

// gates makes the verdict of a comparison depend on a quantity.
func gates(c Comparison) Comparison { c.Gates = true; return c }

// above ignores losses that are smaller than a number in the quantity's own unit.
func above(resolution float64, c Comparison) Comparison { c.Resolution = resolution; return c }

// catalogue has every number of a run by which it can be judged, in the order in which numbers are shown. To add one,
// write a file that computes it and add a line here; thresholds, their schema, the manual, comparisons, bench.txt,
// sweeps and pages go by this list.
var catalogue = named(slices.Concat(
	[]Quantity{
		{Path: "throughput.acquired_per_s", Unit: PerSecond, Better: Higher, Compared: gates(likeMedian),
			BenchUnit: "acquired/s",
			Tile:      "acquisitions per second"},
		{Path: "throughput.offered_per_s", Unit: PerSecond, Means: "open loops: acquisitions that were due per second"},
		{Path: "throughput.dropped", Better: Lower,
			Means: "open loops: acquisitions that were due, found no idle client and were not begun"},
		{Path: "throughput.dropped_per_s", Unit: PerSecond, Better: Lower,
			Compared: Comparison{Difference: true, Tolerance: 1}, BenchUnit: "dropped/s"},
		{Path: "throughput.backlog_max", Better: Lower, Means: "open loops: the most acquisitions that were due and " +
			"waiting at once"},
		{Path: "throughput.backlog_end", Better: Lower,
			Means: "open loops: acquisitions that were due and waiting at the end of the window"},

		{Path: "operations.acquired", Better: Higher, Tile: "acquired in the window"},
		{Path: "operations.timed_out", Better: Lower},
		{Path: "operations.busy", Better: Lower, Means: "attempts with try that would have had to wait"},
		{Path: "operations.failed", Better: Lower},
		{Path: "operations.unknown", Better: Lower, Means: "acquisitions without an answer, whose outcome the servers' " +
			"logs do not tell"},
		{Path: "operations.resolved", Means: "acquisitions without an answer, whose outcome the servers' logs tell"},
		{Path: "operations.censored", Better: Lower, Means: "acquisitions that were still waiting at the end"},
		{Path: "operations.censored_max_wait_ns", Unit: Nanoseconds, Better: Lower,
			Means: "the longest of their waits, as far as it was seen"},
		{Path: "operations.reads", Means: "grants to read"},
		{Path: "operations.writes", Means: "grants to write"},
		{Path: "operations.permits", Means: "permits granted, together or one by one"},
		{Path: "operations.acquired_in_run", Better: Higher, Means: "grants of the whole run, warm-up and drain included"},
		{Path: "failures.count", Better: Lower, Means: "acquisitions of the whole run that the lock itself failed"},
	},

	distribution(measure.PhaseAcquire,
		"from when an acquisition was due (in a closed loop: asked for) until it was granted",
		Quantity{Path: "latency.acquire.p50_ns", Compared: gates(above(clockNoise, likeMedian)), Tile: "acquire, median",
			Column: "acquire p50"},
		Quantity{Path: "latency.acquire.p90_ns", Compared: above(clockNoise, likeTail)},
		Quantity{Path: "latency.acquire.p99_ns", Compared: gates(above(clockNoise, likeTail)), Tile: "acquire, p99",
			Column: "p99"}),
	distribution(measure.PhaseArrival, "open loops: the part of acquire before a client asked for the lock"),
	distribution(measure.PhaseService, "open loops: the part of acquire after a client asked for the lock"),
	distribution(measure.PhaseEnqueue, "from asking for the lock until the client had its place in the queue"),
	distribution(measure.PhaseWait, "from having a place in the queue until the grant"),
	distribution(measure.PhaseHandoff, "from the previous holder's call of release until the grant to a client that was "+
		"already queued",
		Quantity{Path: "latency.handoff.mean_ns", Column: "hand-off"},
		Quantity{Path: "latency.handoff.p50_ns", Compared: gates(above(clockNoise, likeMedian)), Tile: "hand-off, median"},
		Quantity{Path: "latency.handoff.p90_ns", Compared: above(clockNoise, likeTail)},
		Quantity{Path: "latency.handoff.p99_ns", Compared: above(clockNoise, likeTail)}),
	distribution(measure.PhaseHold, "from the grant until release is called; more the workload's than the lock's",
		Quantity{Path: "latency.hold.mean_ns", Column: "hold"},
		Quantity{Path: "latency.hold.p50_ns", Compared: above(clockNoise, likeMedian)},
		Quantity{Path: "latency.hold.p90_ns", Compared: above(clockNoise, likeTail)},
		Quantity{Path: "latency.hold.p99_ns", Compared: above(clockNoise, likeTail)}),
	distribution(measure.HoldResource, "the part of hold that goes to the resource, of holds that write"),
	distribution(measure.PhaseRelease, "the call of release", compared("release")...),
	// The next two are parts of acquire, which gates.
	distribution(measure.AcquireRead, "acquire, of those that asked to read", compared("acquire_read")...),
	distribution(measure.AcquireWrite, "acquire, of those that asked to write", compared("acquire_write")...),

	[]Quantity{
		{Path: "operations.not_acquired_share", Unit: Share, Better: Lower, Of: notAcquired, BenchUnit: "not-acquired/op",
			Compared: gates(Comparison{Difference: true, Tolerance: 0.01}),
			Means:    "the share of acquisitions that timed out, were busy, failed, are unknown, or still waited at the end"},
		{Path: "server.requests_per_acquire", Unit: Ratio, Better: Lower, Compared: gates(above(0.1, likeMedian)),
			BenchUnit: "requests/acquire", Row: "requests to the servers per acquisition",
			Means: "heartbeats and the harness’s own reads included"},
		{Path: "server.watches_fired_per_release", Unit: Ratio, Better: Lower, Compared: above(0.1, likeMedian),
			BenchUnit: "watches-fired/release", Row: "watches fired per release",
			Means: "1 in a queue: the next waiter’s; 2 where holds last over 30 ms and watch their own znodes"},

		{Path: "fairness.jain", Unit: Share, Better: Higher, Compared: likeMedian, BenchUnit: "jain-index",
			Row: "Jain’s index", Means: "1 = every client got as many grants as any other"},
		{Path: "fairness.gini", Unit: Share, Better: Lower, Row: "Gini coefficient",
			Means: "0 = every client got as many grants as any other"},
		{Path: "fairness.hold_rsd", Unit: Ratio, Better: Lower, Row: "relative standard deviation of the time with a lock",
			Means: "0 = every client had one for as long as any other"},
		{Path: "fairness.fifo_inversions", Better: Lower, Row: "grants against the queue’s order"},
		{Path: "fairness.max_bypass", Better: Lower, Row: "most grants past one waiter",
			Means: "to clients that asked after it was queued (at least)"},
		{Path: "fairness.starved_clients", Better: Lower, Row: "clients that got nothing",
			Means: "though they wanted a lock in the window"},
		{Path: "fairness.lwss", Unit: Ratio, Better: Higher, Row: "different clients among successive grants",
			Means: "on average; as many as grants are looked at if clients strictly take turns"},
		{Path: "fairness.lwss_window", Row: "successive grants that are looked at",
			Means: "as many as clients got the lock"},

		{Path: "hiccups.samples", Means: "sleeps of 10 ms in client processes, which measure what the machine adds"},
		{Path: "hiccups.p50_ns", Unit: Nanoseconds, Better: Lower, Means: "by how much they took too long"},
		{Path: "hiccups.p99_ns", Unit: Nanoseconds, Better: Lower},
		{Path: "hiccups.max_ns", Unit: Nanoseconds, Better: Lower},
		{Path: "resident_bytes_per_client", Unit: Bytes, Better: Lower, Means: "memory of the client processes at the " +
			"end of the window, by their clients"},

		{Path: "sharing.grants.count", Means: "semaphores: grants while the next client was queued and a permit was free"},
		{Path: "sharing.grants.mean_ns", Unit: Nanoseconds, Better: Lower, Means: "the time from each of them to the " +
			"next grant"},
		{Path: "sharing.grants.sd_ns", Unit: Nanoseconds, Better: Lower, Means: "its standard deviation"},
	},

	damage(
		Quantity{Path: "safety.overlaps", Tile: "overlapping beliefs"},
		Quantity{Path: "safety.max_overlap_ns", Unit: Nanoseconds, Tile: "longest overlap"},
		Quantity{Path: "safety.stale_accepted", Tile: "outdated accesses accepted"},
		Quantity{Path: "safety.stale_rejected", Tile: "outdated accesses refused"},
		Quantity{Path: "safety.lost_updates", Tile: "updates lost"}),

	[]Quantity{
		failovers, failoverMean, failoverMax,
		processors, clientProcessors, agentProcessors, resourceProcessors, harnessProcessors, loadProcessors, loadPerAcquire,
		serverProcessors, serverPerAcquire, otherProcessors, clientDeaths, standstillExpiries, fsyncLeast, fsyncMost,
		heldShare, handoffShare,
		{Path: "checks_judged", Better: Higher, Means: "checks of the lock that could judge, of checks_total"},
		{Path: "window.from_ns", Unit: Nanoseconds, Means: "when the measured window began, from the run's base"},
		{Path: "window.to_ns", Unit: Nanoseconds, Means: "when it ended"},
	},
))

// distribution returns the quantities of a phase's latency. Those given replace the usual ones of their paths.
func distribution(phase, means string, given ...Quantity) []Quantity {
	path := "latency." + phase + "."
	all := []Quantity{{Path: path + "count", Means: means}}
	for _, part := range latencyParts {
		q := oneOf(given, path+part)
		q.Unit, q.Better = Nanoseconds, Lower
		all = append(all, q)
	}
	return append(all, Quantity{Path: path + "recording_errors", Better: Lower})
}

// compared returns the percentiles of a phase by which runs are compared, and which do not gate.
func compared(phase string) []Quantity {
	path := "latency." + phase + "."
	return []Quantity{{Path: path + "p50_ns", Compared: above(clockNoise, likeMedian)},
		{Path: path + "p90_ns", Compared: above(clockNoise, likeTail)},
		{Path: path + "p99_ns", Compared: above(clockNoise, likeTail)}}
}

// damage returns the counters of the checks. Those given replace the usual ones of their paths.
func damage(given ...Quantity) []Quantity {
	var all []Quantity
	for _, c := range counters.All() {
		q := oneOf(given, "safety."+c.Name)
		q.Better, q.Means = Lower, c.Means
		all = append(all, q)
	}
	return all
}

// oneOf returns the quantity that is given for a path, or one of which nothing else is said.
func oneOf(given []Quantity, path string) Quantity {
	if i := slices.IndexFunc(given, func(q Quantity) bool { return q.Path == path }); i >= 0 {
		return given[i]
	}
	return Quantity{Path: path}
}

// latencyParts are the times of a distribution, in result.json.
var latencyParts = [...]string{"min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"}

// notAcquired is the share of acquisitions that did not get the lock: they timed out, were busy, failed, have an
// unknown outcome, or were still waiting when the run ended.
func notAcquired(r *Result) *float64 {
	o := r.Operations
	bad := o.TimedOut + o.Busy + o.Failed + o.Unknown + o.Censored
	if bad+o.Acquired == 0 {
		return nil
	}
	share := float64(bad) / float64(bad+o.Acquired)
	return &share
}
