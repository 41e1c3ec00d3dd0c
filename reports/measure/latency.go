package measure

import (
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The range of the histograms: 1 µs to an hour, three digits.
const (
	hdrLowest  = int64(1e3)
	hdrHighest = int64(3600e9)
	hdrDigits  = 3
)

// A Latency is the distribution of one phase's durations. A percentile for which there are too few samples is null.
type Latency struct {
	Count  int64  `json:"count"`
	MinNs  *int64 `json:"min_ns"`
	MeanNs *int64 `json:"mean_ns"`
	P50Ns  *int64 `json:"p50_ns"`
	P90Ns  *int64 `json:"p90_ns"`
	P99Ns  *int64 `json:"p99_ns"`
	P999Ns *int64 `json:"p999_ns"`
	MaxNs  *int64 `json:"max_ns"`
	// Errors counts durations that the histogram cannot record, because they are negative or longer than an hour.
	// They are not in Count.
	Errors int64 `json:"recording_errors"`
}

// EnoughSamples reports whether n samples say anything about the percentile p (0 to 100). At least one sample must be
// expected beyond it, which takes 2 for the median, 10 for p90, 100 for p99 and 1000 for p99.9.
func EnoughSamples(p float64, n int64) bool {
	return n >= int64(math.Round(100/(100-p)))
}

// A Recording is a histogram, and what a histogram does not keep: the exact extremes, the sum, and how many values it
// refused.
type Recording struct {
	Hist     *hdrhistogram.Histogram
	Min, Max int64
	sum      float64
	errors   int64
}

// NewRecording returns a Recording of nothing.
func NewRecording() *Recording {
	return &Recording{Hist: hdrhistogram.New(hdrLowest, hdrHighest, hdrDigits)}
}

// Add records a duration, in nanoseconds.
func (r *Recording) Add(d int64) {
	if d < 0 || d > hdrHighest || r.Hist.RecordValue(d) != nil {
		r.errors++
		return
	}
	if n := r.Hist.TotalCount(); n == 1 || d < r.Min {
		r.Min = d
	}
	r.Max = max(r.Max, d)
	r.sum += float64(d)
}

// At returns the percentile p, 0 to 100. It is never beyond the exact extremes, although a histogram answers with the
// upper edge of a bucket.
func (r *Recording) At(p float64) int64 {
	return min(max(r.Hist.ValueAtPercentile(p), r.Min), r.Max)
}

func (r *Recording) Latency() Latency {
	l := Latency{Count: r.Hist.TotalCount(), Errors: r.errors}
	if l.Count == 0 {
		return l
	}
	// Copies, because a pointer into the recording would keep its histogram as long as the latency.
	l.MinNs, l.MeanNs, l.MaxNs = new(r.Min), new(int64(math.Round(r.sum/float64(l.Count)))), new(r.Max)
	for _, q := range []struct {
		p    float64
		into **int64
	}{{50, &l.P50Ns}, {90, &l.P90Ns}, {99, &l.P99Ns}, {99.9, &l.P999Ns}} {
		if EnoughSamples(q.p, l.Count) {
			v := r.At(q.p)
			*q.into = &v
		}
	}
	return l
}
