package check

import (
	"testing"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// compareWithOracle counts overlaps and stale accesses of a simulated run by their definitions, which look at every
// pair, and compares them with what the checks counted.
func (s *simulation) compareWithOracle(t *testing.T, seed uint64, got *evidence.Safety) {
	t.Helper()
	holds := s.beliefs()
	var pairs int64
	crowded := false
	for i, a := range holds {
		var taken int64
		for k, b := range holds {
			if a.By.Lock != b.By.Lock {
				continue
			}
			if b.From <= a.From && a.From < b.Until {
				taken += b.By.Permits
			}
			if k < i && a.By.Client != b.By.Client && history.Conflict(a.By.Mode, b.By.Mode) &&
				max(a.From, b.From) < min(a.Until, b.Until) {
				pairs++
			}
		}
		crowded = crowded || taken > int64(s.permits)
	}
	if n := *got.Overlaps; s.permits == 0 && n != pairs || s.permits > 0 && !s.resized && (n > 0) != crowded {
		t.Errorf("seed %d: %d overlaps, but %d by definition (crowded: %t)", seed, n, pairs, crowded)
	}
	if n := got.StaleAccepted; n != nil && s.guard != evidence.GuardZKMulti && *n != s.stale() {
		t.Errorf("seed %d: %d stale accesses accepted, but %d by definition", seed, *n, s.stale())
	}
}

// beliefs are all holds that last for any time, by the clients' records.
func (s *simulation) beliefs() (all []effect.Hold) {
	for i := range s.events {
		e := &s.events[i]
		if e.Op != history.OpAcquire || e.Kind != history.OK {
			continue
		}
		h := effect.Hold{From: e.At, Until: s.now, By: &history.Acquisition{Claimant: &history.Claimant{Client: e.Client,
			Lock: e.Lock, Mode: e.Mode, Permits: e.Permits()}}}
		for k := range s.events {
			o := &s.events[k]
			ends := o.Client == e.Client && o.Acq == e.Acq && o.Lock == e.Lock &&
				(o.Op == history.OpLost || o.Op == history.OpRelease && o.Kind == history.Invoke)
			if ends || k > i && o.Process == e.Process && o.ProcessIs(history.ProcessExited) {
				h.Until = min(h.Until, o.At)
			}
		}
		if h.From < h.Until {
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
