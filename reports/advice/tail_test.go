package advice

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"locklab/harness/scenario"
	"locklab/workloads/guard"
)

// heavy is a log of pauses whose share above x falls as x to the power -1.5, so the tail's shape is 1/1.5.
func heavy(draw *rand.Rand, n int) Pauses {
	p := Pauses{Span: time.Duration(n) * time.Second}
	for range n {
		p.Lengths = append(p.Lengths, Length{time.Duration(1e7 * math.Pow(1-draw.Float64(), -1/1.5)), 1})
	}
	p.order()
	return p
}

var extrapolating = Config{Tick: 2 * time.Second, Timeouts: []time.Duration{10 * time.Second, 30 * time.Second},
	Clients: 1, Holding: 0.1, AccessEvery: time.Second, Guard: guard.None, Extrapolate: true}

// The fitted tail has the distribution's shape, and rates beyond the longest pause are right: of many logs, most
// intervals have the true rate, and half of the estimates are on either side of it.
func TestTailAgainstKnownDistribution(t *testing.T) {
	const logs = 40
	draw := rand.New(rand.NewPCG(8, 8))
	shape, covered, above, beyond := 0.0, 0, 0, 0
	h := extrapolating.harmAt(30 * time.Second)
	want := 0.0
	for s := h.expiry.lo; s < h.expiry.hi; s += 0.01 {
		want += (h.expires(s+0.01) - h.expires(s)) * math.Pow((s+0.005)/0.01, -1.5)
	}
	want *= Year.Seconds() // a pause a second
	for range logs {
		a, err := Advise(heavy(draw, 20_000), extrapolating)
		if err != nil {
			t.Fatal(err)
		}
		shape += a.Tail.Shape / logs
		r := a.Options[1].FalseExpiries
		if r.Low <= want && want <= r.High {
			covered++
		}
		if r.AYear > want {
			above++
		}
		if r.Extrapolated {
			beyond++
		}
	}
	t.Logf("mean shape %.3f, true rate %.1f a year in %d of %d intervals, %d estimates above it, %d extrapolated", shape,
		want, covered, logs, above, beyond)
	if math.Abs(shape-1/1.5) > 0.05 {
		t.Errorf("mean shape %.3f, want %.3f", shape, 1/1.5)
	}
	if covered < logs*80/100 {
		t.Errorf("%d of %d intervals have the true rate", covered, logs)
	}
	if above < logs/4 || above > logs*3/4 {
		t.Errorf("%d of %d estimates are above the true rate", above, logs)
	}
	if beyond < logs*3/4 {
		t.Errorf("%d of %d rates are said to be extrapolated", beyond, logs)
	}
}

// Where the pauses reach, the fit and the counts agree.
func TestTailAgreesWithCounts(t *testing.T) {
	p := heavy(rand.New(rand.NewPCG(9, 9)), 400_000)
	fitted, err := Advise(p, extrapolating)
	if err != nil {
		t.Fatal(err)
	}
	counted := extrapolating
	counted.Extrapolate = false
	seen, err := Advise(p, counted)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range seen.Options {
		f := fitted.Options[i].FalseExpiries
		if f.AYear < o.FalseExpiries.Low || f.AYear > o.FalseExpiries.High {
			t.Errorf("T %s: %+v fitted, %+v counted", time.Duration(o.TimeoutNs), f, o.FalseExpiries)
		}
	}
}

// A tail is not fitted to too little.
func TestTailNeedsPauses(t *testing.T) {
	few := heavy(rand.New(rand.NewPCG(10, 10)), 79)
	quantiles, err := Read([]string{"p50=2ms,max=3s,count=10000,over=1h"})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Pauses{
		"few": few, "quantiles": quantiles,
		"equal": {Span: time.Hour, Lengths: []Length{{time.Millisecond, 1000}, {time.Second, 500}}},
	} {
		_, err := Advise(p, extrapolating)
		if bad, ok := errors.AsType[*scenario.InputError](err); !ok || bad.Flag != "--extrapolate" || bad.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
