package sweep

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness/check/evidence"
	"locklab/reports/capacity"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// A kind is a workload of a synthetic sweep: for how many seconds each part of an acquisition lasts, and how many hold
// the lock together.
type kind struct {
	name                            string
	hold, handoff, enqueue, release float64
	together                        float64
}

var mutexKind = kind{"mutex", 0.0051, 0.0018, 0.0015, 0.001, 1}

var kinds = []kind{mutexKind, {"read-write", 0.0051, 0.002, 0.002, 0.0015, 3},
	{"semaphore", 0.0051, 0.002, 0.002, 0.0015, 2}}

// perS is how many acquisitions a second so many clients make.
func (k kind) perS(clients int) float64 {
	service := k.hold + k.handoff
	return min(float64(clients)/(service+k.enqueue+k.release), k.together/service)
}

// acquire is how long each of them takes, in seconds, by Little's law.
func (k kind) acquire(clients int) float64 {
	return float64(clients)/k.perS(clients) - k.hold - k.release
}

func nanos(s float64) int64 { return int64(s * 1e9) }

// played makes the result of a run, with some noise.
func played(k kind, clients int, rng *rand.Rand) *result.Result {
	noise := func(sd float64) float64 { return 1 + sd*rng.NormFloat64() }
	x := k.perS(clients) * noise(0.02)
	n := int64(x * 5)
	lat := func(mean, tail float64) measure.Latency {
		ms := func(v float64) *int64 { return new(nanos(v * noise(0.01))) }
		return measure.Latency{Count: n, MeanNs: ms(mean), P50Ns: ms(mean), P90Ns: ms(mean * 1.2), P99Ns: ms(mean + tail),
			MaxNs: ms(2 * mean)}
	}
	two := 2.0
	r := &result.Result{SchemaVersion: 1, Verdict: evidence.Pass, Throughput: result.Throughput{AcquiredPerS: &x},
		Operations: measure.Operations{Acquired: n}, Server: result.Server{WatchesFiredPerRelease: &two,
			RequestsPerAcquire: &two}, Hiccups: &result.Hiccups{P99Ns: new(int64)}}
	r.Latency = result.LatencyByPhase{Acquire: lat(k.acquire(clients), 0.004), Enqueue: lat(k.enqueue, 0),
		Hold: lat(k.hold, 0), Release: lat(k.release, 0)}
	if clients > 1 {
		r.Latency.Handoff = lat(k.handoff, 0.002)
	}
	held := min(x*k.hold/k.together, 1)
	r.Quantities = map[string]*float64{"held_share": &held, "handoff_share": new(min(x*k.handoff/k.together, 1-held))}
	return r
}

func param(key string, values ...string) Param {
	p := Param{Key: key, Values: values}
	for _, v := range values {
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return Param{Key: key, Values: values}
		}
		p.Numbers = append(p.Numbers, n)
	}
	return p
}

// sweepInput is a sweep over clients of some kinds of locks; change may spoil a result.
func sweepInput(repeat int, all []kind, change func(kind string, clients int, r *result.Result)) Input {
	in := Input{Header: Header{Scenario: "synthetic", About: "What can they carry?", Seed: 1, Repeat: repeat}}
	clients := []string{"1", "2", "4", "8", "16", "32", "64", "128", "256"}
	var names []string
	rng := rand.New(rand.NewPCG(1, 1))
	for _, k := range all {
		names = append(names, k.name)
		for _, text := range clients {
			n, _ := strconv.Atoi(text)
			p := PointRuns{Values: map[string]string{"clients": text, "workload": k.name},
				Setting: Setting{Clients: n, Locks: 1, Hold: 5 * time.Millisecond}}
			for i := range repeat {
				r := played(k, n, rng)
				if change != nil {
					change(k.name, n, r)
				}
				p.Runs = append(p.Runs, Run{Dir: fmt.Sprintf("points/clients=%s,workload=%s/%02d", text, k.name, i+1), Result: r})
			}
			in.Points = append(in.Points, p)
		}
	}
	in.Params = []Param{param("clients", clients...), param("workload", names...)}
	return in
}

// A run in which the lock let something through cannot raise a point's throughput, and still decides its verdict. If
// each run did, the verdict stands beside what they measured.
func TestViolationRaisesNoThroughput(t *testing.T) {
	broken := func(r *result.Result) {
		r.Verdict, r.Outcome = evidence.Fail, result.Violation
		r.Checks = []result.CheckLine{{Name: evidence.BeliefExclusion, Outcome: evidence.Fail}}
		r.Throughput.AcquiredPerS = new(1e6)
	}
	for _, runs := range []int{1, 2, 3} { // how many of the three are broken
		n := 0
		s := Summarize(sweepInput(3, kinds[:1], func(_ string, clients int, r *result.Result) {
			if clients == 64 {
				if n++; n <= runs {
					broken(r)
				}
			}
		}))
		for _, p := range s.Series[0].Points {
			if p.Clients != 64 {
				continue
			}
			raised := *p.AcquiredPerS > 1000 || *p.AcquiredPerSMax > 1000 || p.Medians["acquired_per_s"] > 1000
			if !p.Violation || p.Verdict != evidence.Fail || raised != (runs == 3) {
				t.Errorf("%d of 3 broken: %v, %v to %v, %s", runs, *p.AcquiredPerS, *p.AcquiredPerSMin, *p.AcquiredPerSMax,
					p.Verdict)
			}
		}
	}
}

// shardInput is a sweep over the number of locks, which share something.
func shardInput() Input {
	in := Input{Header: Header{Scenario: "shards", Seed: 1, Repeat: 1}}
	locks := []string{"1", "2", "4", "8", "16", "32"}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, text := range locks {
		n, _ := strconv.Atoi(text)
		r := played(mutexKind, 64, rng)
		x := 140 * float64(n) / (1 + 0.06*float64(n-1)) * (1 + 0.02*rng.NormFloat64())
		r.Throughput.AcquiredPerS = &x
		in.Points = append(in.Points, PointRuns{Values: map[string]string{"locks": text},
			Setting: Setting{Clients: 64, Locks: n, Hold: 5 * time.Millisecond},
			Runs:    []Run{{"x", r}}})
	}
	in.Params = []Param{param("locks", locks...)}
	return in
}

// searchInput is a search at each of a few numbers of locks.
func searchInput() Input {
	in := Input{Header: Header{Scenario: "search", Seed: 1, Saturate: []string{"acquire.p99 < 20ms"}, Over: "rate",
		BoundsNs: []float64{20e6}, Disturbance: "the server was stopped for 2s"}}
	for i, text := range []string{"1", "2", "4"} {
		var trials []capacity.Trial
		var runs []Run
		s := capacity.Search{Disturb: true}
		most := 120 * float64(i+1)
		for {
			ask, more := s.Next(trials)
			if !more {
				break
			}
			ms := func(v float64) *int64 { return new(int64(v * 1e6)) }
			wait := 1 / max(1-ask.Level/most*0.95, 0.02)
			p := capacity.Trial{Level: ask.Level, Kind: ask.Kind, PerS: new(min(ask.Level, most)), DroppedPerS: new(0.0),
				Losses: []*float64{new(0.001)}, Latency: capacity.Quantiles{P50Ns: ms(wait / 4), P99Ns: ms(wait),
					P999Ns: ms(wait * 1.5)}}
			switch {
			case ask.Level > most && len(trials)%7 == 6:
				p.Reason, p.Detail = capacity.Void, "arrivals came late by 3 ms"
			case ask.Level > most:
				p.Reason, p.Detail = capacity.Missed, "acquire.p99 < 20ms: 5 % of 2,000 acquisitions were lost"
				p.Losses[0], p.DroppedPerS = new(0.05), new(3.0)
			case ask.Kind == capacity.Disturbed:
				p.RecoveredNs = new(int64(3e9))
			}
			trials = append(trials, p)
			r := &result.Result{Verdict: evidence.Pass}
			r.Throughput = result.Throughput{AcquiredPerS: p.PerS, OfferedPerS: &ask.Level, Dropped: new(int64(*p.DroppedPerS))}
			r.Latency.Acquire = measure.Latency{MeanNs: p.Latency.P50Ns, P99Ns: p.Latency.P99Ns}
			runs = append(runs, Run{"x", r})
		}
		l := s.Limit(trials)
		in.Points = append(in.Points, PointRuns{Values: map[string]string{"locks": text}, Limit: &l, Runs: runs,
			Setting: Setting{Clients: 64, Locks: 1 << i, Hold: 5 * time.Millisecond}})
	}
	in.Params = []Param{param("locks", "1", "2", "4")}
	return in
}

func within(got, want, share float64) bool { return got >= want*(1-share) && got <= want*(1+share) }

// A search has the answer of each point, what supports it, and what was dropped.
func TestOfSearches(t *testing.T) {
	s := Summarize(searchInput())
	if len(s.Series) != 1 || s.Partial {
		t.Errorf("%+v", s.Series)
	}
	var out strings.Builder
	if err := Print(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"answer: rate", "locks 2: 235 per second holds acquire.p99 < 20ms; 245 per second is " +
		"too high (95 % interval 235 to 245, by 5 and 5 windows).", "At 245 per second: acquire.p99 < 20ms: 5 % of 2,000 " +
		"acquisitions were lost.", "the server was stopped for 2s; the limit was kept again 3 s later",
		"The limit with one server away: not measured.", "note: locks 1: arrivals were dropped from 123 per second on"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// Missing runs make the sweep partial, and no numbers are invented for them.
func TestWithMissingRuns(t *testing.T) {
	in := sweepInput(1, []kind{mutexKind}, nil)
	in.Points[3].Runs[0].Result = nil
	s := Summarize(in)
	p := s.Series[0].Points[3]
	if !s.Partial || p.Runs != 0 || p.AcquiredPerS != nil || p.Verdict != evidence.Unknown {
		t.Errorf("partial %t: %+v", s.Partial, p)
	}
	var out strings.Builder
	if err := Print(&out, s); err != nil || !strings.Contains(out.String(), "n/a") {
		t.Errorf("%v\n%s", err, out.String())
	}
	if err := Render(t.TempDir(), s); err != nil {
		t.Error(err)
	}
	if err := Render(t.TempDir(), Summarize(Input{Header: Header{Scenario: "empty"}})); err != nil {
		t.Error(err)
	}
}

// Runs that are too short for a p99 are drawn without it.
func TestWithoutTails(t *testing.T) {
	s := Summarize(sweepInput(1, kinds, func(_ string, _ int, r *result.Result) { r.Latency.Acquire.P99Ns = nil }))
	dir := t.TempDir()
	if err := Render(dir, s); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"load", "small-multiples"} {
		if _, err := os.Stat(filepath.Join(dir, "plots", name+".svg")); err != nil {
			t.Error(err)
		}
	}
}

// The page has every picture, and the same sweep makes the same files.
func TestSweepPage(t *testing.T) {
	for name, in := range sweeps() {
		a, b := t.TempDir(), t.TempDir()
		if err := Render(a, Summarize(in)); err != nil {
			t.Fatal(err)
		}
		if name != "clients" {
			b = a // one sweep is enough to show that the files do not depend on chance
		} else if err := Render(b, Summarize(in)); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(a, "plots", "*.svg"))
		if err != nil || len(files) < 2 {
			t.Fatalf("%s: %v, %v", name, files, err)
		}
		for _, f := range append(files, filepath.Join(a, "report.html")) {
			rel, _ := filepath.Rel(a, f)
			one, errA := os.ReadFile(f)
			two, errB := os.ReadFile(filepath.Join(b, rel))
			if errA != nil || errB != nil || string(one) != string(two) {
				t.Errorf("%s: %s differs", name, rel)
			}
		}
		page, err := os.ReadFile(filepath.Join(a, "report.html"))
		if err != nil || strings.Count(string(page), "<figure>") != len(files) {
			t.Errorf("%s: %v, %d pictures on the page of %d", name, err, strings.Count(string(page), "<figure>"), len(files))
		}
	}
}

func sweeps() map[string]Input {
	return map[string]Input{"clients": sweepInput(3, kinds, nil), "one": sweepInput(1, []kind{mutexKind}, nil),
		"locks": shardInput(), "search": searchInput(), "failover": failoverInput()}
}

// TestLookSweep writes the reports of synthetic sweeps for a person to look at: LOOK=DIR go test -run TestLookSweep
// ./reports.
func TestLookSweep(t *testing.T) {
	dir := os.Getenv("LOOK")
	if dir == "" {
		t.Skip("LOOK names no directory")
	}
	for name, in := range sweeps() {
		d := filepath.Join(dir, name)
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := Render(d, Summarize(in)); err != nil {
			t.Fatal(err)
		}
	}
}

// The bars of single runs end within the axis.
func TestAxisHasEveryRun(t *testing.T) {
	s := Sweep{Load: "clients", Series: []Series{{Points: []Point{
		{Load: 1, AcquiredPerS: new(100.0), AcquiredPerSMin: new(80.0), AcquiredPerSMax: new(170.0)},
		{Load: 2, AcquiredPerS: new(120.0), AcquiredPerSMin: new(115.0), AcquiredPerSMax: new(125.0)},
		{Load: 4}}}}}
	if p := s.panel(throughput, []int{0}, 100); p.Y.Min != 80 || p.Y.Max != 170 {
		t.Errorf("%v…%v", p.Y.Min, p.Y.Max)
	}
}
