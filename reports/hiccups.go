package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"locklab/harness/hiccups"
	"locklab/harness/history"
)

// Hiccups is how much longer than asked for the sleeps of 10 ms took that the client
// processes slept throughout the measured window: what the machine adds
// to whatever is measured on it. The harness sleeps too, and is told apart: it measures no latency.
type Hiccups struct {
	Samples int64  `json:"samples"`
	P50Ns   *int64 `json:"p50_ns"`
	P99Ns   *int64 `json:"p99_ns"`
	MaxNs   *int64 `json:"max_ns"`
	// Processes are those that measured, the harness among them; nil within one.
	Processes map[string]Hiccups `json:"processes,omitempty"`
	// Unsupported are the latencies that are below P99Ns, by their paths in result.json: they
	// may be the machine's as well as the lock's.
	Unsupported []string `json:"unsupported,omitempty"`
}

// measureHiccups reads the hiccups of all processes from the history. It returns nil if no
// process said any, and warnings of what cannot be read.
func measureHiccups(events []history.Event, w window) (*Hiccups, []string) {
	var warnings []string
	stops := stopped(events)
	own := map[string]recording{}
	add := func(process string) recording {
		r, ok := own[process]
		if !ok {
			r = recording{hist: hiccups.New()}
		}
		return r
	}
	for i := range events {
		e := &events[i]
		switch e.Op {
		case history.OpHiccups:
			h, err := hiccups.Decode(e.Detail)
			if err != nil {
				warnings = append(warnings, fmt.Sprintf("the hiccups of %s cannot be read: %v", e.Process, err))
				continue
			}
			r := add(e.Process)
			r.hist.Merge(h)
			r.max = max(r.max, h.Max())
			own[e.Process] = r
		case history.OpHiccup:
			slept := span{e.At - e.Value - int64(hiccups.Period), e.At}
			if !w.contains(e.At) || slices.ContainsFunc(stops[e.Process], slept.overlaps) {
				continue
			}
			r := add(e.Process)
			if r.hist.RecordValue(e.Value) != nil {
				warnings = append(warnings, fmt.Sprintf("a hiccup of %s of %s is beyond the distribution's range", e.Process, duration(e.Value)))
				continue
			}
			r.max = max(r.max, e.Value)
			own[e.Process] = r
		}
	}
	if len(own) == 0 {
		return nil, warnings
	}
	all := recording{hist: hiccups.New()}
	result := Hiccups{Processes: map[string]Hiccups{}}
	for _, process := range slices.Sorted(maps.Keys(own)) {
		r := own[process]
		result.Processes[process] = r.hiccups()
		if process == harnessProcess && len(own) > 1 {
			continue
		}
		all.hist.Merge(r.hist)
		all.max = max(all.max, r.max)
	}
	total := all.hiccups()
	result.Samples, result.P50Ns, result.P99Ns, result.MaxNs = total.Samples, total.P50Ns, total.P99Ns, total.MaxNs
	return &result, warnings
}

// harnessProcess is the harness in a history.
const harnessProcess = "harness"

func (r recording) hiccups() Hiccups {
	l := r.latency()
	return Hiccups{Samples: l.Count, P50Ns: l.P50Ns, P99Ns: l.P99Ns, MaxNs: l.MaxNs}
}

// stopped returns when each process was stopped on purpose, by its agent's record. A stop
// without an end lasts to the end of time.
func stopped(events []history.Event) map[string][]span {
	all := map[string][]span{}
	for i := range events {
		e := &events[i]
		if e.Op != history.OpProcess {
			continue
		}
		stops := all[e.Process]
		open := len(stops) > 0 && stops[len(stops)-1].To == history.None
		switch {
		case e.Mode == history.ProcessStopped && !open:
			all[e.Process] = append(stops, span{e.At, history.None})
		case e.Mode != history.ProcessStopped && open:
			stops[len(stops)-1].To = e.At
		}
	}
	for _, stops := range all {
		if last := &stops[len(stops)-1]; last.To == history.None {
			last.To = int64(^uint64(0) >> 1)
		}
	}
	return all
}

// percentiles are the parts of a latency that a hiccup can make up.
var percentiles = []string{"min_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"}

// Supported reports whether a value of a time in this result says something about the
// lock, and if not, why: a latency below the hiccups' p99 may as well be the machine's. path is
// the value's path in result.json, with or without "latency." and "_ns"; what is no
// latency is always supported, as is everything in a run that measured no hiccups.
func (r *Result) Supported(path string, ns float64) (bool, string) {
	if r.Hiccups == nil || r.Hiccups.P99Ns == nil {
		return true, ""
	}
	if !isLatency(path) {
		return true, ""
	}
	if limit := *r.Hiccups.P99Ns; ns < float64(limit) {
		return false, fmt.Sprintf("unknown because below the hiccups' p99 of %s", duration(limit))
	}
	return true, ""
}

// isLatency reports whether a path in result.json, with or without "latency." and "_ns", is of a
// value of a phase's time.
func isLatency(path string) bool {
	phase, part, ok := strings.Cut(strings.TrimPrefix(path, "latency."), ".")
	isPhase := slices.Contains(phases[:], phase) || phase == acquireRead || phase == acquireWrite
	return ok && isPhase && slices.Contains(percentiles, strings.TrimSuffix(part, "_ns")+"_ns")
}

// noteUnsupported lists the latencies that the hiccups leave unsupported.
func (r *Result) noteUnsupported() {
	if r.Hiccups == nil {
		return
	}
	for _, name := range append(slices.Clone(phases[:]), acquireRead, acquireWrite) {
		l := r.Latency.ByPhase(name)
		if part := r.Latency.part(name); part != nil {
			l = *part
		}
		if l == nil {
			continue
		}
		for _, v := range []struct {
			name string
			ns   *int64
		}{{"p50_ns", l.P50Ns}, {"p90_ns", l.P90Ns}, {"p99_ns", l.P99Ns}, {"p999_ns", l.P999Ns}} {
			path := "latency." + name + "." + v.name
			if v.ns == nil {
				continue
			}
			if ok, _ := r.Supported(path, float64(*v.ns)); !ok {
				r.Hiccups.Unsupported = append(r.Hiccups.Unsupported, path)
			}
		}
	}
}

// Note says which latencies the hiccups leave unsupported; "" if none.
func (h *Hiccups) Note() string {
	if h == nil || len(h.Unsupported) == 0 {
		return ""
	}
	var names []string
	for _, path := range h.Unsupported {
		names = append(names, strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(path, "latency."), "_ns"), ".", " "))
	}
	return fmt.Sprintf("below the hiccups' p99 of %s, and so not supported: %s", duration(*h.P99Ns), strings.Join(names, ", "))
}

// residentPerClient returns the client processes' memory at the window's end by their clients;
// nil if it is not known of all, as where a lock's own command takes memory beside them.
func residentPerClient(events []history.Event, meta Meta) *int64 {
	var sum int64
	n := 0
	for i := range events {
		if events[i].Op == history.OpResident {
			sum += events[i].Value
			n++
		}
	}
	if n == 0 || n != meta.Processes || meta.Clients == 0 {
		return nil
	}
	per := sum / int64(meta.Clients)
	return &per
}
