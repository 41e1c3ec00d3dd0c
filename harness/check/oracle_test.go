package check

import (
	"testing"

	"locklab/harness/history"
)

// compareWithOracle counts overlaps and stale accesses of a simulated run by their definitions, which look at every
// pair, and compares them with what the checks counted.
func (s *simulation) compareWithOracle(t *testing.T, seed uint64, got *Safety) {
	t.Helper()
	holds := s.beliefs()
	var pairs int64
	crowded := false
	for i, a := range holds {
		var taken int64
		for k, b := range holds {
			if a.by.Lock != b.by.Lock {
				continue
			}
			if b.from <= a.from && a.from < b.until {
				taken += b.by.Permits
			}
			if k < i && a.by.Client != b.by.Client && history.Conflict(a.by.Mode, b.by.Mode) &&
				max(a.from, b.from) < min(a.until, b.until) {
				pairs++
			}
		}
		crowded = crowded || taken > int64(s.permits)
	}
	if n := *got.Overlaps; s.permits == 0 && n != pairs || s.permits > 0 && (n > 0) != crowded {
		t.Errorf("seed %d: %d overlaps, but %d by definition (crowded: %t)", seed, n, pairs, crowded)
	}
	if n := got.StaleAccepted; n != nil && s.guard != GuardZKMulti && *n != s.stale() {
		t.Errorf("seed %d: %d stale accesses accepted, but %d by definition", seed, *n, s.stale())
	}
}

// beliefs are all holds that last for any time, by the clients' records.
func (s *simulation) beliefs() (all []hold) {
	for i := range s.events {
		e := &s.events[i]
		if e.Op != history.OpAcquire || e.Kind != history.OK {
			continue
		}
		h := hold{from: e.At, until: s.now, by: &history.Acquisition{Claimant: &history.Claimant{Client: e.Client,
			Lock: e.Lock, Mode: e.Mode, Permits: e.Permits()}}}
		for k := range s.events {
			o := &s.events[k]
			ends := o.Client == e.Client && o.Acq == e.Acq && o.Lock == e.Lock &&
				(o.Op == history.OpLost || o.Op == history.OpRelease && o.Kind == history.Invoke)
			if ends || k > i && o.Process == e.Process && o.ProcessIs(history.ProcessExited) {
				h.until = min(h.until, o.At)
			}
		}
		if h.from < h.until {
			all = append(all, h)
		}
	}
	return all
}

// stale counts the accesses that the resource accepted although it had served one with a higher token that excludes
// them.
func (s *simulation) stale() (n int64) {
	for i := range s.events {
		e := &s.events[i]
		if e.Process != "r1" || e.Kind != history.OK {
			continue
		}
		for k := range s.events[:i] {
			o := &s.events[k]
			if o.Process == "r1" && o.Lock == e.Lock && o.Kind == history.OK && o.Token > e.Token &&
				(o.Mode != history.ModeRead || e.Mode != history.ModeRead) && o.Target == e.Target {
				n++
				break
			}
		}
	}
	return n
}
