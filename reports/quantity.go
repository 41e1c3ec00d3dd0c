package reports

import "slices"

// A Quantity is a number of a Result by name, as thresholds, comparisons and
// benchmarks mean it.
type Quantity struct {
	Name string // acquire.p99, throughput.acquired_per_s, …
	// Unit is that of the Go benchmark format, which readers bring to base units
	// by themselves: ns becomes sec.
	Unit string
	// Of returns the number; nil where the run does not say.
	Of func(*Result) *float64

	_ struct{}
}

// Quantities lists the numbers that say how well a lock did, in the order in which
// they are shown. Latencies are in nanoseconds.
func Quantities() []Quantity {
	all := []Quantity{{Name: "throughput.acquired_per_s", Unit: "acquired/s", Of: func(r *Result) *float64 { return r.Throughput.AcquiredPerS }},
		{Name: "throughput.dropped_per_s", Unit: "dropped/s", Of: func(r *Result) *float64 { return r.Throughput.DroppedPerS }}}
	for _, phase := range slices.Concat(mainPhases[:], []string{acquireRead, acquireWrite}) {
		for _, p := range []struct {
			name string
			of   func(*Latency) *int64
		}{
			{"p50", func(l *Latency) *int64 { return l.P50Ns }},
			{"p90", func(l *Latency) *int64 { return l.P90Ns }},
			{"p99", func(l *Latency) *int64 { return l.P99Ns }},
		} {
			all = append(all, Quantity{Name: phase + "." + p.name, Unit: phase + "-" + p.name + "-ns",
				Of: func(r *Result) *float64 {
					if l := r.Latency.ByPhase(phase); l != nil {
						return toFloat(p.of(l))
					}
					return nil // no lock could be read-locked
				}})
		}
	}
	return append(all,
		Quantity{Name: "operations.not_acquired_share", Unit: "not-acquired/op", Of: notAcquired},
		Quantity{Name: "server.requests_per_acquire", Unit: "requests/acquire", Of: func(r *Result) *float64 { return r.Server.RequestsPerAcquire }},
		Quantity{Name: "server.watches_fired_per_release", Unit: "watches-fired/release", Of: func(r *Result) *float64 { return r.Server.WatchesFiredPerRelease }},
		Quantity{Name: "fairness.jain", Unit: "jain-index", Of: func(r *Result) *float64 { return r.Fairness.Jain }},
	)
}

// notAcquired is the share of acquisitions that came to anything but the lock:
// timed out, busy, failed, of unknown outcome, or still waiting when the run ended.
func notAcquired(r *Result) *float64 {
	o := r.Operations
	bad := o.TimedOut + o.Busy + o.Failed + o.Unknown + o.Censored
	if bad+o.Acquired == 0 {
		return nil
	}
	share := float64(bad) / float64(bad+o.Acquired)
	return &share
}

func toFloat(n *int64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}
