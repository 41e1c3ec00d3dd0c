package main

import "time"

// A LoadSample is one window of one of the two loads.
type LoadSample struct {
	PerS float64 `json:"acquired_per_s"` // of what was due in the window
	// Due is how many acquisitions were due in the window, and Lost how many of them failed, were dropped or did not end.
	Due  int `json:"due"`
	Lost int `json:"lost"`
	// P50, P99 and HoldP50 are null if there are too few samples. Whatever was lost took longer than anything else, so a
	// percentile that lies among the lost is null too.
	P50     *int64 `json:"acquire_p50_ns"`
	P99     *int64 `json:"acquire_p99_ns"`
	HoldP50 *int64 `json:"hold_p50_ns"`
	// Load and Servers are processor time per acquisition: of the whole load side, and of the servers if they are seen.
	Load    *float64 `json:"load_ns_per_acquisition"`
	Servers *float64 `json:"servers_ns_per_acquisition"`
	// LoadUsed is how many processors the load side used.
	LoadUsed *float64 `json:"load_processors"`
}

// sampleOf computes what both loads tell by their records.
func sampleOf(r Record) LoadSample {
	var s LoadSample
	var waits, holds []int64
	for _, h := range r.Holds {
		switch {
		case h.Asked < r.Begin.At || h.Asked >= r.End.At:
			continue
		case h.Granted == never:
			s.Lost++
		default:
			holds = append(holds, h.Released-h.Granted)
		}
		s.Due++
		waits = append(waits, max(h.Granted-h.Asked, 0))
	}
	s.PerS = float64(len(holds)) / r.seconds()
	s.P50, s.P99, s.HoldP50 = found(waits, 50), found(waits, 99), percentile(holds, 50)
	return s
}

// found returns a percentile of the waits unless it lies among those that never ended.
func found(waits []int64, p int) *int64 {
	if v := percentile(waits, p); v != nil && *v < never/2 {
		return v
	}
	return nil
}

func (r Record) seconds() float64 { return time.Duration(r.End.At - r.Begin.At).Seconds() }

// charge adds the processor time of a window to its sample.
func (s *LoadSample) charge(load, servers *float64, seconds float64) {
	if load != nil {
		s.LoadUsed = new(*load / seconds / 1e9)
	}
	n := s.PerS * seconds
	if n == 0 {
		return
	}
	if load != nil {
		s.Load = new(*load / n)
	}
	if servers != nil {
		s.Servers = new(*servers / n)
	}
}
