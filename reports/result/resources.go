package result

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/reports/measure"
	"locklab/workloads"
)

// The resources of a run: how much of each of them it used. Processor time and fsync are of the time between the two
// readings of the servers' counters, which is the measured window and half a second before it.
var (
	processors = Quantity{Path: "quantities.processors", Unit: Ratio,
		Means: "processors of the machine of the harness, if all hosts are on it",
		Measure: func(run *rundir.Run, _ measure.Interval) *float64 {
			if run.Env.CPUs == 0 || elsewhere(run) {
				return nil
			}
			return new(float64(run.Env.CPUs))
		}}
	clientProcessors = Quantity{Path: "quantities.client_processors", Unit: Ratio, Better: Lower,
		Row: "processors used by client processes", Means: "on average, in processors",
		Measure: used(clientHosts)}
	agentProcessors = Quantity{Path: "quantities.agent_processors", Unit: Ratio, Better: Lower,
		Row: "processors used by locklab's agents", Means: "relays among them",
		Measure: used(agents)}
	resourceProcessors = Quantity{Path: "quantities.resource_processors", Unit: Ratio, Better: Lower,
		Row:     "processors used by the resource that the locks protect",
		Measure: used(func(*rundir.Run) []string { return []string{rundir.ResourceHost} })}
	harnessProcessors = Quantity{Path: "quantities.harness_processors", Unit: Ratio, Better: Lower,
		Row:     "processors used by the harness",
		Measure: used(func(*rundir.Run) []string { return []string{rundir.HarnessHost} })}
	loadProcessors = Quantity{Path: "quantities.load_processors", Unit: Ratio, Better: Lower,
		Row: "processors used by the load side", Means: "by client processes, agents, the resource and the harness together",
		Measure: used(loadSide)}
	loadPerAcquire = Quantity{Path: "quantities.load_per_acquire_ns", Unit: Nanoseconds, Better: Lower,
		Row:     "processor time of the load side per acquisition",
		Measure: usedPerAcquire(loadSide)}
	serverProcessors = Quantity{Path: "quantities.server_processors", Unit: Ratio, Better: Lower,
		Row: "processors used by servers", Means: "of an ensemble elsewhere only if it is on this machine",
		Measure: used(serverHosts)}
	serverPerAcquire = Quantity{Path: "quantities.server_per_acquire_ns", Unit: Nanoseconds, Better: Lower,
		Row:     "processor time of the servers per acquisition",
		Measure: usedPerAcquire(serverHosts)}
	otherProcessors = Quantity{Path: "quantities.other_processors", Unit: Ratio, Better: Lower,
		Row:     "processors used by other processes of the machine",
		Measure: func(run *rundir.Run, _ measure.Interval) *float64 { return othersUsed(run) }}
	fsyncLeast = Quantity{Path: "quantities.fsync_share_least", Unit: Share, Better: Lower,
		Means: "the share of the time that the busiest server spent in fsync, at least: servers cut each to milliseconds",
		Measure: func(run *rundir.Run, _ measure.Interval) *float64 {
			least, _ := fsyncShare(run)
			return least
		}}
	fsyncMost = Quantity{Path: "quantities.fsync_share_most", Unit: Share, Better: Lower, Means: "the same, at most",
		Measure: func(run *rundir.Run, _ measure.Interval) *float64 {
			_, most := fsyncShare(run)
			return most
		}}
	heldShare = Quantity{Path: "quantities.held_share", Unit: Share,
		Means: "the share of the window in which the busiest lock was held (of a semaphore: its permits)",
		Measure: func(run *rundir.Run, w measure.Interval) *float64 {
			held, _ := lockShares(run, w)
			return held
		}}
	handoffShare = Quantity{Path: "quantities.handoff_share", Unit: Share, Better: Lower,
		Means: "the share of the window in which that lock was being handed over to a client that was already queued",
		Measure: func(run *rundir.Run, w measure.Interval) *float64 {
			_, handed := lockShares(run, w)
			return handed
		}}
)

// elsewhere reports whether a host has another clock than the harness, and so perhaps another machine's processors.
func elsewhere(run *rundir.Run) bool {
	for _, e := range run.Events.Of(history.OpHostClock) {
		if !e.ClockReading().Same {
			return true
		}
	}
	return false
}

// used measures what the processes of some hosts use of the processors.
func used(hosts func(*rundir.Run) []string) func(*rundir.Run, measure.Interval) *float64 {
	return func(run *rundir.Run, _ measure.Interval) *float64 { return processorsUsed(run, hosts(run)) }
}

// clientHosts returns the names of a run's client processes.
func clientHosts(run *rundir.Run) (all []string) {
	for i := range run.Scenario.ClientProcesses {
		all = append(all, fmt.Sprintf("c%d", i+1))
	}
	return all
}

// serverHosts returns the names of a run's servers.
func serverHosts(run *rundir.Run) (all []string) {
	for i := range run.Scenario.Servers {
		all = append(all, fmt.Sprintf("zk%d", i+1))
	}
	return all
}

// agents returns the names of the agents of a run's hosts, as events of [history.OpProcessorTime] have them.
func agents(run *rundir.Run) (all []string) {
	hosts := slices.Concat(clientHosts(run), serverHosts(run), []string{rundir.ResourceHost})
	if run.Scenario.Observer {
		hosts = append(hosts, rundir.ObserverHost)
	}
	for _, h := range hosts {
		all = append(all, history.AgentOf(h))
	}
	return all
}

// loadSide returns the names of everything in a run but the servers.
func loadSide(run *rundir.Run) []string {
	all := slices.Concat(clientHosts(run), agents(run), []string{rundir.ResourceHost, rundir.HarnessHost})
	if run.Scenario.Observer {
		all = append(all, rundir.ObserverHost)
	}
	return all
}

// usedPerAcquire measures how much processor time of some hosts each acquisition of the window took, in ns.
func usedPerAcquire(hosts func(*rundir.Run) []string) func(*rundir.Run, measure.Interval) *float64 {
	return func(run *rundir.Run, w measure.Interval) *float64 {
		used, rate := processorsUsed(run, hosts(run)), throughput(run.Acquisitions, w).AcquiredPerS
		if used == nil || rate == nil || *rate == 0 {
			return nil
		}
		return new(*used / *rate * 1e9)
	}
}

// processorsUsed returns how many processors the processes of hosts used on average, between the first and the last
// reading. It is nil unless each of them was read twice, and was the same process both times.
func processorsUsed(run *rundir.Run, hosts []string) *float64 {
	if len(hosts) == 0 {
		return nil
	}
	read := readingsOf(run)
	sum := 0.0
	for _, host := range hosts {
		all := read[host]
		if len(all) < 2 {
			return nil
		}
		first, last := all[0], all[len(all)-1]
		if first.PID != last.PID || first.PID == history.Away || last.at <= first.at || last.Used < first.Used {
			return nil
		}
		sum += float64(last.Used-first.Used) / float64(last.at-first.at)
	}
	return &sum
}

// othersUsed returns how many processors of the machine the processes used that are no part of the run. Servers on
// another machine do not count. It is nil if hosts are on other machines, or if a server of this one is not seen.
func othersUsed(run *rundir.Run) *float64 {
	if elsewhere(run) {
		return nil
	}
	ours := loadSide(run)
	read := readingsOf(run)
	for _, server := range serverHosts(run) {
		if all := read[server]; len(all) == 0 || all[0].PID != history.Away {
			ours = append(ours, server)
		}
	}
	used, all := processorsUsed(run, ours), processorsUsed(run, []string{history.Machine})
	if used == nil || all == nil {
		return nil
	}
	return new(max(*all-*used, 0))
}

// A reading is a processor time and when it was read.
type reading struct {
	at int64
	history.ProcessorTime
}

// readingsOf returns the readings of a run by host, in the order of time.
func readingsOf(run *rundir.Run) map[string][]reading {
	read := map[string][]reading{}
	for _, e := range run.Events.Of(history.OpProcessorTime) {
		t := e.ProcessorTime()
		read[t.Host] = append(read[t.Host], reading{e.At, t})
	}
	return read
}

// The servers' counters of fsync: how often, and for how many milliseconds. Each time is cut to whole milliseconds.
const (
	counterFsyncs    = "zk_cnt_fsynctime"
	counterFsyncTime = "zk_sum_fsynctime"
)

// fsyncShare returns the share of the time in which the busiest server waited for fsync, at least and at most.
func fsyncShare(run *rundir.Run) (least, most *float64) {
	if run.Scenario.Connect != "" || len(run.CountersAtStart) == 0 {
		return nil, nil
	}
	between, readings, why := counted(run)
	var reading float64
	for _, r := range readings {
		reading += float64(r.Lasts())
	}
	if why != "" || reading > mostUnsure*float64(between.Lasts()) {
		return nil, nil
	}
	var low, high float64
	for name, start := range run.CountersAtStart {
		end := run.CountersAtEnd[name]
		for _, c := range [...]string{counterFsyncs, counterFsyncTime} {
			_, a := start[c]
			_, b := end[c]
			if !a || !b || end[c] < start[c] {
				return nil, nil
			}
		}
		n, ms := end[counterFsyncs]-start[counterFsyncs], end[counterFsyncTime]-start[counterFsyncTime]
		low, high = max(low, ms), max(high, ms+n)
	}
	total := float64(between.Lasts()) / 1e6
	return new(min(low/total, 1)), new(min(high/total, 1))
}

// lockShares returns the shares of the window in which the lock that was busiest was held, and was being handed over
// to a client that was already queued. They are nil if there were no grants, or if the number of permits changed.
func lockShares(run *rundir.Run, w measure.Interval) (held, handed *float64) {
	permits := 1
	if run.Scenario.Workload == workloads.Semaphore {
		if permits = permitsOf(run.Scenario); permits == 0 {
			return nil, nil
		}
	}
	busiest := -1.0
	for _, grants := range history.Grants(run.Events) {
		h, o := sharesOf(grants, w, permits)
		if h+o > busiest {
			busiest, held, handed = h+o, &h, &o
		}
	}
	return held, handed
}

// sharesOf is lockShares for one lock. Its grants are in the order in which acquire returned, so holds that overlap, as
// those of readers do, are counted once by how far they have been counted already.
func sharesOf(grants []*history.Acquisition, w measure.Interval, permits int) (held, handed float64) {
	length := float64(w.Until - w.From)
	if length <= 0 {
		return 0, 0
	}
	heldTo, handedTo, lastRelease := w.From, w.From, int64(math.MinInt64)
	for _, a := range grants {
		from, to := max(a.Returned, w.From), min(a.BelievedUntil(w.Until), w.Until)
		switch {
		case to <= from:
		case a.Mode == history.ModePermit:
			held += float64(to-from) * float64(a.Permits) / float64(permits)
		default:
			held += float64(max(to-max(from, heldTo), 0))
			heldTo = max(heldTo, to)
		}
		if a.Queued != history.None && a.Queued < lastRelease && lastRelease < a.Returned {
			to := min(a.Returned, w.Until)
			handed += float64(max(to-max(lastRelease, handedTo), 0))
			handedTo = max(handedTo, to)
		}
		if a.ReleaseInvoked != history.None {
			lastRelease = max(lastRelease, a.ReleaseInvoked)
		}
	}
	return min(held/length, 1), min(handed/length, 1)
}

// Server is what an acquisition costs the ensemble. Both numbers come from the servers' counters at two snapshots,
// and count the acquisitions and releases that ended in between.
type Server struct {
	// RequestsPerAcquire counts every packet that clients sent, including heartbeats and the harness's own reads.
	RequestsPerAcquire *float64 `json:"requests_per_acquire"`
	// WatchesFiredPerRelease counts watch notifications for deleted nodes. A queue has one for the next waiter; with
	// the herd effect there are as many as waiters.
	WatchesFiredPerRelease *float64 `json:"watches_fired_per_release"`
}

// The counters, as mntr names them.
const (
	counterPackets        = "zk_packets_received"
	counterDeletedWatches = "zk_sum_node_deleted_watch_count"
	counterUptime         = "zk_uptime"
)

func serverCost(run *rundir.Run) (Server, []string) {
	var s Server
	acq := run.Acquisitions
	if run.Scenario.Connect != "" {
		return s, []string{"requests and watches were not measured: the counters of an ensemble that locklab did not start " +
			"count its other clients too"}
	}
	if run.CountersAtStart == nil || run.CountersAtEnd == nil {
		return s, nil
	}
	between, readings, why := counted(run)
	if why != "" {
		return s, []string{"server counters: " + why + "; costs per acquisition are left out"}
	}
	var acquires, releases, unsure float64
	for i := range acq {
		a := &acq[i]
		if a.Granted() && a.Returned >= between.From && a.Returned < between.Until {
			acquires++
		}
		if a.ReleaseReturned >= between.From && a.ReleaseReturned < between.Until && a.ReleaseOutcome == history.OK {
			releases++
		}
		if slices.ContainsFunc(readings, func(r spans.Span) bool { return a.Returned >= r.From && a.Returned < r.Until }) {
			unsure++
		}
	}
	if unsure > acquires*mostUnsure {
		return s, []string{fmt.Sprintf("server counters: %.0f acquisitions ended while they were read, and %.0f between the "+
			"two readings; costs per acquisition are left out", unsure, acquires)}
	}
	if d, ok := delta(run, counterPackets); ok && acquires > 0 {
		v := d / acquires
		s.RequestsPerAcquire = &v
	}
	if d, ok := delta(run, counterDeletedWatches); ok && releases > 0 {
		v := d / releases
		s.WatchesFiredPerRelease = &v
	}
	return s, nil
}

// mostUnsure is the share of what is counted, acquisitions or time, of which it may be unknown on which side of a
// reading it was.
const mostUnsure = 0.2

// counted returns the time between the two readings of the servers' counters and the times of the readings, or says why
// the counters cannot be set against them.
func counted(run *rundir.Run) (between spans.Span, readings []spans.Span, why string) {
	var at []int64
	for _, e := range run.Events.Of(history.OpSnapshot) {
		at = append(at, e.At)
		readings = append(readings, spans.Span{From: e.At - e.ReadingTook()/2, Until: e.At + e.ReadingTook()/2})
	}
	if len(at) < 2 {
		return spans.Span{}, nil, "the history does not say when they were read"
	}
	between = spans.Span{From: slices.Min(at), Until: slices.Max(at)}
	return between, readings, restarted(run, between)
}

// restarted says which server lost its counters between the snapshots; "" if none did.
func restarted(run *rundir.Run, between spans.Span) string {
	events := run.Events
	for _, e := range events.Of(history.OpProcess) {
		if _, server := run.CountersAtStart[e.Process]; server && e.At > between.From && e.At < between.Until &&
			(e.ProcessIs(history.ProcessStarted) || e.ProcessIs(history.ProcessExited)) {
			return fmt.Sprintf("%s was restarted between the two readings", e.Process)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(run.CountersAtStart)) {
		start, end := run.CountersAtStart[name], run.CountersAtEnd[name]
		if end == nil {
			return name + " did not answer the second reading"
		}
		for _, c := range []string{counterPackets, counterDeletedWatches, counterUptime} {
			if end[c] < start[c] {
				return fmt.Sprintf("%s of %s went backwards", c, name)
			}
		}
	}
	return ""
}

// delta returns a counter's growth, over all servers; false if a server lacks the counter.
func delta(run *rundir.Run, counter string) (sum float64, ok bool) {
	if len(run.CountersAtStart) == 0 || len(run.CountersAtStart) != len(run.CountersAtEnd) {
		return 0, false
	}
	for name := range run.CountersAtStart {
		a, ok1 := run.CountersAtStart[name][counter]
		b, ok2 := run.CountersAtEnd[name][counter]
		if !ok1 || !ok2 {
			return 0, false
		}
		sum += b - a
	}
	return sum, true
}
