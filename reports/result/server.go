package result

import (
	"fmt"
	"maps"
	"slices"

	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/reports/measure"
)

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
		if a.Granted() && a.Returned >= between.From && a.Returned < between.To {
			acquires++
		}
		if a.ReleaseReturned >= between.From && a.ReleaseReturned < between.To && a.ReleaseOutcome == history.OK {
			releases++
		}
		if slices.ContainsFunc(readings, func(r measure.Span) bool { return a.Returned >= r.From && a.Returned < r.To }) {
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
func counted(run *rundir.Run) (between measure.Span, readings []measure.Span, why string) {
	var at []int64
	for _, e := range run.Events.Of(history.OpSnapshot) {
		at = append(at, e.At)
		readings = append(readings, measure.Span{From: e.At - e.ReadingTook()/2, To: e.At + e.ReadingTook()/2})
	}
	if len(at) < 2 {
		return measure.Span{}, nil, "the history does not say when they were read"
	}
	between = measure.Span{From: slices.Min(at), To: slices.Max(at)}
	return between, readings, restarted(run, between)
}

// restarted says which server lost its counters between the snapshots; "" if none did.
func restarted(run *rundir.Run, between measure.Span) string {
	events := run.Events
	for _, e := range events.Of(history.OpProcess) {
		if _, server := run.CountersAtStart[e.Process]; server && e.At > between.From && e.At < between.To &&
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
