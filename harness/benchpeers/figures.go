package main

import (
	"cmp"
	"slices"
	"time"
)

// Figures are what a record says about its peer. A figure is nil if there are too few samples for it.
type Figures struct {
	Acquisitions int     `json:"acquisitions"`
	PerSecond    float64 `json:"acquisitions_per_s"`
	AcquireMean  *int64  `json:"acquire_mean_ns"`
	AcquireP50   *int64  `json:"acquire_p50_ns"`
	AcquireP99   *int64  `json:"acquire_p99_ns"`
	HandOffP50   *int64  `json:"hand_off_p50_ns"`
	CPU          *int64  `json:"cpu_ns_per_acquisition"`
	Resident     int64   `json:"resident_bytes"`
}

// samplesBeyond is how many samples a percentile needs beyond it to be more than the worst case.
const samplesBeyond = 10

// Figures computes the figures from the holds granted in the measured time.
//
// A hand-off is the time from the grant to one holder, which calls release at once, to the grant to the next, if that
// one was waiting already. Of locks that several clients hold at once, and of several locks, it is merely the time
// between two grants.
func (r Record) Figures() Figures {
	all := slices.SortedFunc(slices.Values(r.Holds), func(a, b Hold) int { return cmp.Compare(a.Granted, b.Granted) })
	var waits, handOffs []int64
	for i, h := range all {
		if h.Granted < r.Begin.At || h.Granted >= r.End.At {
			continue
		}
		waits = append(waits, h.Granted-h.Asked)
		if i > 0 && h.Asked < all[i-1].Granted {
			handOffs = append(handOffs, h.Granted-all[i-1].Granted)
		}
	}
	f := Figures{Resident: r.End.Resident << 10, Acquisitions: len(waits),
		PerSecond:  float64(len(waits)) / time.Duration(r.End.At-r.Begin.At).Seconds(),
		AcquireP50: percentile(waits, 50), AcquireP99: percentile(waits, 99), HandOffP50: percentile(handOffs, 50)}
	if len(waits) > 0 {
		var sum int64
		for _, w := range waits {
			sum += w
		}
		f.AcquireMean = new(sum / int64(len(waits)))
		f.CPU = new((r.End.Ticks - r.Begin.Ticks) * int64(ClockTick) / int64(len(waits)))
	}
	return f
}

// percentile returns the smallest value that p percent of the samples do not exceed; nil if there are too few samples.
func percentile(samples []int64, p int) *int64 {
	if len(samples)*(100-p) < samplesBeyond*100 {
		return nil
	}
	s := slices.Sorted(slices.Values(samples))
	return &s[(len(s)*p+99)/100-1]
}
