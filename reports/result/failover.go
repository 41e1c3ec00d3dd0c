package result

import (
	"slices"
	"strings"

	"locklab/harness/history"
	"locklab/harness/rundir"
)

// A failover is the passage of an exclusive lock from a holder whose process a fault has struck to the next client,
// without a release that was confirmed. It takes from when the fault struck until the next grant, which is how long a
// service is without a leader.
var (
	failovers = Quantity{
		Path:  "quantities.failovers",
		Means: "times that a lock went to the next client because a fault had struck its holder",
		Measure: func(run *rundir.Run, w Interval) *float64 {
			n := float64(len(failoversOf(run.Events, history.Grants(run.Events), w)))
			return &n
		},
	}
	failoverMean = Quantity{
		Path: "quantities.failover_mean_ns", Unit: Nanoseconds, Better: Lower,
		Row:   "failover, on average",
		Means: "from when a fault struck the holder of a lock until the next client was granted it",
		Measure: func(run *rundir.Run, w Interval) *float64 {
			return failoverTime(run, w, func(all []int64) float64 {
				sum := 0.0
				for _, d := range all {
					sum += float64(d)
				}
				return sum / float64(len(all))
			})
		},
	}
	failoverMax = Quantity{
		Path: "quantities.failover_max_ns", Unit: Nanoseconds, Better: Lower, Row: "failover, at most",
		Means: "the longest of these times",
		Measure: func(run *rundir.Run, w Interval) *float64 {
			return failoverTime(run, w, func(all []int64) float64 { return float64(slices.Max(all)) })
		},
	}
)

// Failover returns how long failovers took on average and at most, in nanoseconds; nil if there were none.
func (r *Result) Failover() (mean, longest *int64) {
	if m, l := failoverMean.Value(r), failoverMax.Value(r); m != nil && l != nil {
		mean, longest = new(int64), new(int64)
		*mean, *longest = int64(*m), int64(*l)
	}
	return mean, longest
}

// failoverTime returns what of makes of the failovers' durations; nil if there were none.
func failoverTime(run *rundir.Run, w Interval, of func([]int64) float64) *float64 {
	all := failoversOf(run.Events, history.Grants(run.Events), w)
	if len(all) == 0 {
		return nil
	}
	n := of(all)
	return &n
}

// failoversOf returns the durations of the failovers that began in the window.
func failoversOf(events *history.Log, locks [][]*history.Acquisition, w Interval) (all []int64) {
	for _, e := range events.Of(history.OpFaultInject) {
		if e.Kind != history.OK || !w.Contains(e.At) {
			continue
		}
		hosts := e.FaultStep().Hosts
		for _, grants := range locks {
			if d, ok := failover(grants, e.At, hosts); ok {
				all = append(all, d)
			}
		}
	}
	return all
}

// failover returns how long it took from an instant, at which hosts were struck, until a lock's next grant, if one of
// them held the lock and did not hand it over.
func failover(grants []*history.Acquisition, at int64, hosts []string) (took int64, ok bool) {
	next := slices.IndexFunc(grants, func(a *history.Acquisition) bool { return a.Returned > at })
	if next < 1 {
		return 0, false
	}
	a, b := grants[next-1], grants[next]
	host, _, _ := strings.Cut(a.Client, "/")
	released := a.ReleaseInvoked != history.None && a.ReleaseInvoked < b.Returned && a.ReleaseOutcome == history.OK
	if !history.Exclusive(a.Mode) || !history.Exclusive(b.Mode) || !slices.Contains(hosts, host) || released {
		return 0, false
	}
	return b.Returned - at, true
}
