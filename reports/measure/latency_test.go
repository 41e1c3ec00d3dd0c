package measure

import (
	"testing"
	"time"
)

func TestEnoughSamples(t *testing.T) {
	// One sample in 1/(1-p) lies beyond p: 2 for p50, 10 for p90, 100 for p99, 1000 for p99.9.
	for _, c := range []struct {
		p    float64
		n    int64
		want bool
	}{
		{50, 1, false}, {50, 2, true},
		{90, 9, false}, {90, 10, true},
		{99, 99, false}, {99, 100, true},
		{99.9, 999, false}, {99.9, 1000, true},
	} {
		if got := EnoughSamples(c.p, c.n); got != c.want {
			t.Errorf("supported(%v, %d) = %v", c.p, c.n, got)
		}
	}
}

func record(durations []int64) *Recording {
	r := NewRecording()
	for _, d := range durations {
		r.Add(d)
	}
	return r
}

func TestLatencyGivesWhatTheSampleSupports(t *testing.T) {
	var d []int64
	for i := int64(1); i <= 100; i++ {
		d = append(d, i*int64(time.Millisecond))
	}
	l := record(d).Latency()
	if l.Count != 100 || l.P999Ns != nil || l.P99Ns == nil {
		t.Fatalf("100 samples: count %d, p99 %v, p99.9 %v", l.Count, l.P99Ns, l.P999Ns)
	}
	// The mean of 1..100 ms is 50.5 ms, exactly; the histogram's percentiles are within a thousandth: p50 is the 50th
	// value, p99 the 99th.
	if *l.MeanNs != 50_500_000 || *l.MinNs != 1_000_000 || *l.MaxNs != 100_000_000 {
		t.Errorf("mean %d, min %d, max %d", *l.MeanNs, *l.MinNs, *l.MaxNs)
	}
	for _, c := range []struct{ got, want int64 }{{*l.P50Ns, 50e6}, {*l.P90Ns, 90e6}, {*l.P99Ns, 99e6}} {
		if diff := c.got - c.want; diff < 0 || diff > c.want/1000 {
			t.Errorf("got %d, want %d to a thousandth", c.got, c.want)
		}
	}
}

func TestMaximumIsExact(t *testing.T) {
	// The histogram's bucket of 10 ms ends at 10 002 431 ns.
	l := record([]int64{10_000_000, 10_000_000}).Latency()
	if *l.MaxNs != 10_000_000 || *l.P50Ns != 10_000_000 {
		t.Errorf("max %d, p50 %d, want 10 ms for both", *l.MaxNs, *l.P50Ns)
	}
}

func TestRecordingErrorsAreCounted(t *testing.T) {
	l := record([]int64{-1, int64(2 * time.Hour), 5_000_000}).Latency()
	if l.Errors != 2 || l.Count != 1 || *l.MinNs != 5_000_000 {
		t.Errorf("errors %d, count %d, min %v", l.Errors, l.Count, l.MinNs)
	}
	if e := record(nil).Latency(); e.MaxNs != nil || e.P50Ns != nil || e.Count != 0 {
		t.Errorf("no samples gave %+v", e)
	}
}
