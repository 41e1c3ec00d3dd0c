package advice

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"locklab/harness/scenario"
)

// The lengths that stand for quantiles have these quantiles, and as many are longer between them as a power of the
// length says.
func TestQuantiles(t *testing.T) {
	p, err := Read([]string{"max=10s, p50=10ms,p99=1s,count=10000,over=24h"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	longer := func(than time.Duration) (n float64) {
		for _, l := range p.Lengths {
			if l.Of > than {
				n += l.Count
			}
		}
		return n
	}
	for _, c := range []struct {
		than time.Duration
		want float64
	}{
		{0, 10_000}, {10 * time.Millisecond, 5000}, {time.Second, 100}, {10 * time.Second, 0},
		{10*time.Second - 1, 1},
		// From 5,000 at 10 ms to 100 at 1 s: half way on a logarithmic scale, the geometric mean.
		{100 * time.Millisecond, math.Sqrt(5000 * 100)},
	} {
		if n := longer(c.than); math.Abs(n-c.want) > c.want*0.03+1e-6 {
			t.Errorf("%.1f pauses are longer than %s, want %.1f", n, c.than, c.want)
		}
	}
	if p.Span != 24*time.Hour || p.Longest() != 10*time.Second || math.Abs(p.Count()-10_000) > 1e-6 {
		t.Errorf("%f pauses, the longest %s, in %s", p.Count(), p.Longest(), p.Span)
	}
}

func TestBadQuantiles(t *testing.T) {
	for text, want := range map[string]string{
		"p50=-2ms,max=3s,count=10,over=1h":                   "no time above 0",
		"p50=0s,max=3s,count=10,over=1h":                     "no time above 0",
		"p50=2,max=3s,count=10,over=1h":                      "no time above 0",
		"p50=80ms,p99=2ms,max=3s,count=1000,over=1h":         "do not rise: p50=80ms, but p99=2ms",
		"p50=80ms,p99=80ms,max=3s,count=1000,over=1h":        "do not rise",
		"p50=2ms,p99=80ms,max=50ms,count=1000,over=1h":       "but max=50ms",
		"p50=2ms,p99=80ms,max=3s":                            "count or over is missing",
		"p50=2ms,p99=80ms,max=3s,count=1000":                 "count or over is missing",
		"p50=2ms,p99=80ms,count=1000,over=1h":                "max is missing",
		"max=3s,count=1000,over=1h":                          "there is no quantile",
		"p50=2ms,p99.9=80ms,max=3s,count=100,over=1h":        "too few for a p99.9: at least 1000",
		"p50=2ms,p50=3ms,max=3s,count=100,over=1h":           "given twice",
		"p100=2ms,max=3s,count=100,over=1h":                  "no quantile above p0 and below p100",
		"pNaN=2ms,max=3s,count=100,over=1h":                  "no quantile above p0 and below p100",
		"p50=2ms,max=3s,count=1.5,over=1h":                   "no number of pauses",
		"p50=2ms,max=3s,count=100,over=1h,mean=2ms":          "neither a quantile",
		"p50=2ms,max=3s,count=100000000000000000000,over=1h": "no number of pauses",
	} {
		_, err := Read([]string{text}, 0)
		bad, ok := errors.AsType[*scenario.InputError](err)
		if !ok || bad.Flag != "--pauses" || !strings.Contains(bad.Msg, want) || bad.Hint == "" {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
