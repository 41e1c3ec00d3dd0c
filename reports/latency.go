package reports

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

// A Latency is the distribution of one phase's durations. What the sample does
// not support is null.
type Latency struct {
	Count  int64  `json:"count"`
	MinNs  *int64 `json:"min_ns"`
	MeanNs *int64 `json:"mean_ns"`
	P50Ns  *int64 `json:"p50_ns"`
	P90Ns  *int64 `json:"p90_ns"`
	P99Ns  *int64 `json:"p99_ns"`
	P999Ns *int64 `json:"p999_ns"`
	MaxNs  *int64 `json:"max_ns"`
	// Errors counts durations that the histogram could not record: negative,
	// or longer than an hour. They are not in Count.
	Errors int64 `json:"recording_errors"`
}

// supported reports whether n samples say anything about the percentile p (0
// to 100): at least one of them is expected beyond it, which takes 2 for the
// median, 10 for p90, 100 for p99 and 1000 for p99.9.
func supported(p float64, n int64) bool {
	return n >= int64(math.Round(100/(100-p)))
}

// A recording is a histogram with what a histogram forgets: the exact extremes
// and what it refused.
type recording struct {
	hist     *hdrhistogram.Histogram
	min, max int64
	sum      float64
	errors   int64
}

func record(durations []int64) recording {
	r := recording{hist: hdrhistogram.New(hdrLowest, hdrHighest, hdrDigits)}
	for _, d := range durations {
		if d < 0 || d > hdrHighest || r.hist.RecordValue(d) != nil {
			r.errors++
			continue
		}
		if n := r.hist.TotalCount(); n == 1 || d < r.min {
			r.min = d
		}
		r.max = max(r.max, d)
		r.sum += float64(d)
	}
	return r
}

// at returns the percentile p, 0 to 100, never beyond the exact extremes: a
// histogram answers with its bucket's upper edge.
func (r recording) at(p float64) int64 {
	return min(max(r.hist.ValueAtPercentile(p), r.min), r.max)
}

func (r recording) latency() Latency {
	l := Latency{Count: r.hist.TotalCount(), Errors: r.errors}
	if l.Count == 0 {
		return l
	}
	mean := int64(math.Round(r.sum / float64(l.Count)))
	l.MinNs, l.MeanNs, l.MaxNs = &r.min, &mean, &r.max
	for _, q := range []struct {
		p    float64
		into **int64
	}{{50, &l.P50Ns}, {90, &l.P90Ns}, {99, &l.P99Ns}, {99.9, &l.P999Ns}} {
		if supported(q.p, l.Count) {
			v := r.at(q.p)
			*q.into = &v
		}
	}
	return l
}
