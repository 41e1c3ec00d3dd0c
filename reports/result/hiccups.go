package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/harness/check/spans"
	"locklab/harness/hiccups"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/reports/measure"
	"locklab/reports/words"
)

// Hiccups is how much the machine adds to what is measured on it. The client processes sleep for 10 ms again and
// again throughout the measured window, and a hiccup is by how much a sleep took longer. The harness sleeps too, but
// its hiccups are counted apart, because it measures no latency.
type Hiccups struct {
	Samples int64  `json:"samples"`
	P50Ns   *int64 `json:"p50_ns"`
	P99Ns   *int64 `json:"p99_ns"`
	MaxNs   *int64 `json:"max_ns"`
	// Processes has the hiccups of each process, including the harness; nil within one.
	Processes map[string]Hiccups `json:"processes,omitempty"`
	// Unsupported has the paths in result.json of the latencies below P99Ns, which may be the machine's as well as
	// the lock's.
	Unsupported []string `json:"unsupported,omitempty"`
}

// hiccupsOf returns the hiccups of each process in the history, without those in which a fault had stopped the process,
// and warnings about what cannot be read.
func hiccupsOf(events *history.Log, w measure.Interval) (own map[string]*measure.Recording, warnings []string) {
	stops := measure.Stops(events)
	own = map[string]*measure.Recording{}
	of := func(process string) *measure.Recording {
		if r := own[process]; r != nil {
			return r
		}
		return &measure.Recording{Hist: hiccups.New()}
	}
	for _, e := range events.Of(history.OpHiccups, history.OpHiccup) {
		switch e.Op {
		case history.OpHiccups:
			h, err := hiccups.Decode(e.Hiccups().Distribution)
			if err != nil {
				warnings = append(warnings, fmt.Sprintf("the hiccups of %s cannot be read: %v", e.Process, err))
				continue
			}
			r := of(e.Process)
			r.Hist.Merge(h)
			r.Max = max(r.Max, h.Max())
			own[e.Process] = r
		case history.OpHiccup:
			slept := spans.Span{From: e.At - int64(e.Hiccup()) - int64(hiccups.Period), Until: e.At}
			if !w.Contains(e.At) || slices.ContainsFunc(stops[e.Process], slept.Overlaps) {
				continue
			}
			r := of(e.Process)
			if r.Hist.RecordValue(int64(e.Hiccup())) != nil {
				warnings = append(warnings, fmt.Sprintf("a hiccup of %s of %s is beyond the distribution's range", e.Process,
					words.Duration(int64(e.Hiccup()))))
				continue
			}
			r.Max = max(r.Max, int64(e.Hiccup()))
			own[e.Process] = r
		}
	}
	return own, warnings
}

// summaryOf returns the hiccups of all processes in numbers; nil if there are none.
func summaryOf(own map[string]*measure.Recording) *Hiccups {
	if len(own) == 0 {
		return nil
	}
	all := &measure.Recording{Hist: hiccups.New()}
	result := Hiccups{Processes: map[string]Hiccups{}}
	for _, process := range slices.Sorted(maps.Keys(own)) {
		r := own[process]
		result.Processes[process] = hiccupsIn(r)
		if process == rundir.HarnessHost && len(own) > 1 {
			continue
		}
		all.Hist.Merge(r.Hist)
		all.Max = max(all.Max, r.Max)
	}
	total := hiccupsIn(all)
	result.Samples, result.P50Ns, result.P99Ns, result.MaxNs = total.Samples, total.P50Ns, total.P99Ns, total.MaxNs
	return &result
}

func hiccupsIn(r *measure.Recording) Hiccups {
	l := r.Latency()
	return Hiccups{Samples: l.Count, P50Ns: l.P50Ns, P99Ns: l.P99Ns, MaxNs: l.MaxNs}
}

// Supported reports whether the value of a quantity in this result says something about the lock, and if not, why: a
// latency below the hiccups' p99 may as well be the machine's. name is the quantity's name or its path in
// result.json; what is not a latency is always supported, as is everything in a run that measured no hiccups.
func (r *Result) Supported(name string, value float64) (bool, string) {
	q, known := Named(name)
	if !known || !q.isLatency() || r.Hiccups == nil || r.Hiccups.P99Ns == nil {
		return true, ""
	}
	if limit := *r.Hiccups.P99Ns; value < float64(limit) {
		return false, fmt.Sprintf("unknown because below the hiccups' p99 of %s", words.Duration(limit))
	}
	return true, ""
}

// isLatency reports whether the quantity is a time of a phase.
func (q Quantity) isLatency() bool {
	return q.Unit == Nanoseconds && strings.HasPrefix(q.Path, "latency.")
}

// noteUnsupported lists the percentiles of latencies that the hiccups leave unsupported.
func (r *Result) noteUnsupported() {
	if r.Hiccups == nil {
		return
	}
	for _, q := range catalogue {
		_, percentile, _ := strings.Cut(q.name, ".p")
		if v := q.Value(r); percentile != "" && q.isLatency() && v != nil {
			if ok, _ := r.Supported(q.name, *v); !ok {
				r.Hiccups.Unsupported = append(r.Hiccups.Unsupported, q.Path)
			}
		}
	}
}

// Note says which latencies the hiccups leave unsupported; "" if there are none.
func (h *Hiccups) Note() string {
	if h == nil || len(h.Unsupported) == 0 {
		return ""
	}
	var names []string
	for _, path := range h.Unsupported {
		names = append(names, strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(path, "latency."), "_ns"), ".", " "))
	}
	return fmt.Sprintf("below the hiccups' p99 of %s, and so not supported: %s", words.Duration(*h.P99Ns),
		strings.Join(names, ", "))
}

// residentPerClient returns the client processes' memory at the window's end, divided by the clients. It is nil if
// not every process reported it, as when a lock's own command takes memory besides.
func residentPerClient(run *rundir.Run) *int64 {
	events, sc := run.Events, run.Scenario
	var sum int64
	n := 0
	for _, e := range events.Of(history.OpResident) {
		sum += e.Resident()
		n++
	}
	if n == 0 || n != sc.ClientProcesses || sc.Clients == 0 {
		return nil
	}
	per := sum / int64(sc.Clients)
	return &per
}
