package reports

import (
	"fmt"
	"maps"
	"slices"

	"locklab/harness/history"
)

// Server is what one acquisition costs the ensemble. Both numbers come from
// the servers' counters at two snapshots, and count only what was finished in
// between.
type Server struct {
	// RequestsPerAcquire counts every packet that clients sent, heartbeats and
	// the harness's own reads included.
	RequestsPerAcquire *float64 `json:"requests_per_acquire"`
	// WatchesFiredPerRelease counts watch notifications for deleted nodes: 1 is
	// ideal for a queue, as many as there are waiters is a herd.
	WatchesFiredPerRelease *float64 `json:"watches_fired_per_release"`
}

// The counters, as mntr names them.
const (
	counterPackets        = "zk_packets_received"
	counterDeletedWatches = "zk_sum_node_deleted_watch_count"
	counterUptime         = "zk_uptime"
)

func serverCost(events []history.Event, acq []history.Acquisition, meta Meta) (Server, []string) {
	var s Server
	if meta.ServerStart == nil || meta.ServerEnd == nil {
		return s, nil
	}
	between, ok := snapshots(events)
	if !ok {
		return s, []string{"server counters: the history does not say when they were read; costs per acquisition are left out"}
	}
	if why := restarted(events, between, meta); why != "" {
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
	if d, ok := delta(meta, counterPackets); ok && acquires > 0 {
		v := d / acquires
		s.RequestsPerAcquire = &v
	}
	if d, ok := delta(meta, counterDeletedWatches); ok && releases > 0 {
		v := d / releases
		s.WatchesFiredPerRelease = &v
	}
	return s, nil
}

// snapshots returns the time between the first and the last reading.
func snapshots(events []history.Event) (span, bool) {
	var at []int64
	for i := range events {
		if events[i].Op == history.OpSnapshot {
			at = append(at, events[i].At)
		}
	}
	if len(at) < 2 {
		return span{}, false
	}
	return span{slices.Min(at), slices.Max(at)}, true
}

// restarted says which server lost its counters between the snapshots, if any.
func restarted(events []history.Event, between span, meta Meta) string {
	for i := range events {
		e := &events[i]
		if _, server := meta.ServerStart[e.Process]; server && e.Op == history.OpProcess && e.At > between.From && e.At < between.To &&
			(e.Mode == history.ProcessStarted || e.Mode == history.ProcessExited) {
			return fmt.Sprintf("%s was restarted between the two readings", e.Process)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(meta.ServerStart)) {
		start, end := meta.ServerStart[name], meta.ServerEnd[name]
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

// delta sums a counter's growth over all servers; false if one of them lacks it.
func delta(meta Meta, counter string) (sum float64, ok bool) {
	if len(meta.ServerStart) == 0 || len(meta.ServerStart) != len(meta.ServerEnd) {
		return 0, false
	}
	for name := range meta.ServerStart {
		a, ok1 := meta.ServerStart[name][counter]
		b, ok2 := meta.ServerEnd[name][counter]
		if !ok1 || !ok2 {
			return 0, false
		}
		sum += b - a
	}
	return sum, true
}
