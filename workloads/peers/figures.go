package peers

import (
	"cmp"
	"slices"
	"time"
)

// Figures are what a record says about its peer. A figure is nil if there are too few samples for it.
type Figures struct {
	Acquisitions int     `json:"acquisitions"`
	PerSecond    float64 `json:"acquisitions_per_s"`
	AcquireP50   *int64  `json:"acquire_p50_ns"`
	AcquireP99   *int64  `json:"acquire_p99_ns"`
	HandOffP50   *int64  `json:"hand_off_p50_ns"`
	CPU          *int64  `json:"cpu_ns_per_acquisition"`
	Resident     int64   `json:"resident_bytes"`
}

// ClockTick is Linux's unit of a process's CPU time.
const ClockTick = 10 * time.Millisecond

// A percentile needs this many samples beyond it to be more than the worst case.
const samplesBeyond = 10

// Figures computes the figures from the holds granted in the measured time.
//
// A hand-off is from the call of release by one holder to the return of acquire to
// the next, where that one was waiting already. (Holds are so short that this sees no overlaps; the
// tests of exclusion do.)
func (r Record) Figures() Figures {
	all := slices.SortedFunc(slices.Values(r.Holds), func(a, b Hold) int { return cmp.Compare(a.Granted, b.Granted) })
	var waits, handOffs []int64
	f := Figures{Resident: r.End.Resident << 10}
	for i, h := range all {
		if h.Granted < r.Begin.At || h.Granted >= r.End.At {
			continue
		}
		waits = append(waits, h.Granted-h.Asked)
		if i == 0 {
			continue
		}
		// A holder calls release at the moment of its grant.
		if before := all[i-1]; h.Asked < before.Granted {
			handOffs = append(handOffs, h.Granted-before.Granted)
		}
	}
	f.Acquisitions = len(waits)
	f.PerSecond = float64(len(waits)) / (time.Duration(r.End.At - r.Begin.At)).Seconds()
	f.AcquireP50, f.AcquireP99, f.HandOffP50 = percentile(waits, 50), percentile(waits, 99), percentile(handOffs, 50)
	if len(waits) > 0 {
		cpu := (r.End.Ticks - r.Begin.Ticks) * int64(ClockTick) / int64(len(waits))
		f.CPU = &cpu
	}
	return f
}

// percentile returns the smallest value that p percent of the samples do not exceed.
func percentile(samples []int64, p int) *int64 {
	if len(samples)*(100-p) < samplesBeyond*100 {
		return nil
	}
	s := slices.Sorted(slices.Values(samples))
	return &s[(len(s)*p+99)/100-1]
}
