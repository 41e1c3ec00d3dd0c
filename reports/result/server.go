package result

import (
	"fmt"
	"maps"
	"slices"

	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/reports/measure"
	"locklab/reports/words"
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
	between, why := counted(run)
	if why != "" {
		return s, []string{"server counters: " + why + "; costs per acquisition are left out"}
	}
	var acquires, releases float64
	for i := range acq {
		a := &acq[i]
		if a.Granted() && a.Returned >= between.From && a.Returned < between.To {
			acquires++
		}
		if a.ReleaseReturned >= between.From && a.ReleaseReturned < between.To && a.ReleaseOutcome == history.OK {
			releases++
		}
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

// counted returns the time between the two readings of the servers' counters, or says why the counters cannot be set
// against it.
func counted(run *rundir.Run) (between measure.Span, why string) {
	var at []int64
	var took int64
	for _, e := range run.Events.Of(history.OpSnapshot) {
		at = append(at, e.At)
		took += e.ReadingTook()
	}
	if len(at) < 2 {
		return measure.Span{}, "the history does not say when they were read"
	}
	between = measure.Span{From: slices.Min(at), To: slices.Max(at)}
	if took > (between.To-between.From)/5 {
		return between, fmt.Sprintf("reading them took %s of the %s between the two readings", words.Duration(took),
			words.Duration(between.To-between.From))
	}
	return between, restarted(run, between)
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
