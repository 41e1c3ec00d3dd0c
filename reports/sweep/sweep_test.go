package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"locklab/harness/check"
	"locklab/reports/capacity"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// played makes the result of a run out of a model, with some noise.
func played(l capacity.Lock, clients int, rng *rand.Rand) *result.Result {
	noise := func(sd float64) float64 { return 1 + sd*rng.NormFloat64() }
	x := l.Throughput(clients) * noise(0.02)
	lat := func(mean, tail float64, n int64) measure.Latency {
		ms := func(v float64) *int64 { ns := nanos(v * noise(0.01)); return &ns }
		return measure.Latency{Count: n, MeanNs: ms(mean), P50Ns: ms(mean), P90Ns: ms(mean * 1.2), P99Ns: ms(mean + tail),
			MaxNs: ms(2 * mean)}
	}
	n := int64(x * 5)
	zero, two := int64(0), 2.0
	r := &result.Result{SchemaVersion: 1, Verdict: check.Pass, Throughput: result.Throughput{AcquiredPerS: &x},
		Operations: measure.Operations{Acquired: n}, Server: result.Server{WatchesFiredPerRelease: &two,
			RequestsPerAcquire: &two}}
	r.Latency = result.LatencyByPhase{Acquire: lat(l.Acquire(clients)+l.Enqueue, 0.004, n),
		Enqueue: lat(l.Enqueue, 0, n), Hold: lat(l.Hold, 0, n), Release: lat(l.Release, 0, n)}
	if clients > 1 {
		r.Latency.Handoff = lat(l.Handoff, l.Spread*expTail, n)
	}
	r.Hiccups = &result.Hiccups{P99Ns: &zero}
	if clients > 1 {
		r.Sharing = playedSharing(l, noise)
	}
	return r
}

// playedSharing is how a lock passes on by its model: rounds of up to seven readers, and grants that follow each
// other.
func playedSharing(l capacity.Lock, noise func(sd float64) float64) *measure.Sharing {
	spacing := func(mean float64, n int64) measure.Spacing {
		ns := nanos(mean * noise(0.02))
		return measure.Spacing{Count: n, MeanNs: &ns}
	}
	var s measure.Sharing
	switch {
	case l.ReadShare > 0:
		s.Rounds = append(s.Rounds, measure.Round{Readers: 0, Spacing: spacing(l.Handoff, 10), FarOut: 0})
		for n := range 7 {
			s.Rounds = append(s.Rounds, measure.Round{Readers: n + 1,
				Spacing: spacing(l.Hold+2*l.Handoff+float64(n)*l.Reader, int64(20-2*n)), FarOut: 0})
		}
	case l.Permits > 1:
		s.Grants = spacing(l.Gate, 500)
		s.Grants.SDNs = new(nanos(l.GateSpread))
	default:
		return nil
	}
	return &s
}

// A kind is a workload of a synthetic sweep.
type kind struct {
	name string
	capacity.Lock
}

var mutexKind = kind{"mutex", capacity.Lock{Hold: 0.0051, Handoff: 0.0018, Enqueue: 0.0015, Release: 0.001,
	Spread: 0.0005}}

var kinds = []kind{mutexKind,
	{"read-write", capacity.Lock{Hold: 0.0051, Handoff: 0.002, Enqueue: 0.002, Release: 0.0015, Reader: 0.0008,
		ReadShare: 0.9}},
	{"semaphore", capacity.Lock{Hold: 0.0051, Handoff: 0.002, Enqueue: 0.002, Release: 0.0015, Spread: 0.0005,
		Permits: 4, Gate: 0.0034, GateSpread: 0.002}}}

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
				Setting: Setting{Clients: n, Locks: 1, Together: max(k.Permits, 1), ReadShare: k.ReadShare,
					Hold: 5 * time.Millisecond, Modelled: true}}
			for i := range repeat {
				r := played(k.Lock, n, rng)
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

// shardInput is a sweep over the number of locks, whose throughput is a law's.
func shardInput() Input {
	in := Input{Header: Header{Scenario: "shards", Seed: 1, Repeat: 1}}
	locks := []string{"1", "2", "4", "8", "16", "32"}
	u := capacity.USL{Lambda: 140, Sigma: 0.06, Kappa: 0.0004}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, text := range locks {
		n, _ := strconv.Atoi(text)
		r := played(mutexKind.Lock, 64, rng)
		x := u.At(float64(n)) * (1 + 0.02*rng.NormFloat64())
		r.Throughput.AcquiredPerS = &x
		in.Points = append(in.Points, PointRuns{Values: map[string]string{"locks": text},
			Setting: Setting{Clients: 64, Locks: n, Together: 1, Hold: 5 * time.Millisecond, Modelled: true},
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
			runs = append(runs, Run{"x", &result.Result{Verdict: check.Pass}})
		}
		l := s.Limit(trials)
		in.Points = append(in.Points, PointRuns{Values: map[string]string{"locks": text}, Limit: &l, Runs: runs})
	}
	in.Params = []Param{param("locks", "1", "2", "4")}
	return in
}

// series returns the series of a name.
func (s *Sweep) named(t *testing.T, name string) *Series {
	t.Helper()
	i := slices.IndexFunc(s.Series, func(x Series) bool { return x.Name == name })
	if i < 0 {
		t.Fatalf("no series %q", name)
	}
	return &s.Series[i]
}

// The model is calibrated on few clients, and predicts the throughput of many.
func TestPredicts(t *testing.T) {
	s := Summarize(sweepInput(3, kinds, nil))
	if s.Load != "clients" || len(s.Series) != 3 || s.Partial || s.Done != 81 {
		t.Fatalf("load %s, %d series, %d runs", s.Load, len(s.Series), s.Done)
	}
	for i, k := range kinds {
		series := s.named(t, "workload "+k.name)
		m := series.Model
		if m == nil || !within(float64(m.ServiceNs)/1e9, k.Service(), 0.1) || !within(*m.MostPerS, k.Most(1<<20), 0.1) ||
			!within(*m.KneeClients, k.Knee(), 0.15) {
			t.Errorf("%s: model %+v, of %+v with a knee at %.1f", k.name, m, k.Lock, k.Knee())
			continue
		}
		if want := [...]string{"hand-off measured at 2, 4, 8 clients", "rounds of 1 to 7 readers measured at 2, 4, 8 " +
			"clients", "after the one before (standard deviation 2 ms), measured at 8 clients"}[i]; !strings.Contains(m.From,
			want) {
			t.Errorf("%s: from %s", k.name, m.From)
		}
		for _, p := range series.Points {
			if p.Predicted == nil || p.Gap == nil || *p.Gap > 0.1 || *p.Gap < -0.1 || p.Cause != "" ||
				p.Predicted.Calibrated != (p.Clients >= 2 && p.Clients <= 8) {
				t.Errorf("%s, %d clients: %+v, gap %v %s", k.name, p.Clients, p.Predicted, *p.Gap, p.Cause)
			}
		}
	}
}

// Holds that vary make arrivals wait longer. Exponential holds make them wait about twice as long as constant ones.
func TestPredictsHoldsThatVary(t *testing.T) {
	mean := func(variance float64) float64 {
		in := Input{Header: Header{Scenario: "rates", Seed: 1, Repeat: 1, Params: []Param{param("rate", "50", "100")}}}
		for i, rate := range []float64{50, 100} {
			in.Points = append(in.Points, PointRuns{Values: map[string]string{"rate": in.Params[0].Values[i]},
				Runs: []Run{{"x", played(mutexKind.Lock, 8, rand.New(rand.NewPCG(1, 1)))}},
				Setting: Setting{Clients: 64, Locks: 1, Together: 1, Hold: 5 * time.Millisecond, HoldVariance: variance,
					Rate: rate, Modelled: true}})
		}
		s := Summarize(in)
		p := s.Series[0].Points[1]
		if p.Predicted == nil || p.Predicted.AcquireMeanNs == nil {
			t.Fatalf("%+v", p)
		}
		return float64(*p.Predicted.AcquireMeanNs)/1e9 - mutexKind.Enqueue
	}
	// Pollaczek and Khinchine: the wait grows by 1 + Var/S², with S of 6.9 ms and Var of 5 ms squared.
	constant, drawn := mean(0), mean(0.005*0.005)
	if want := 1 + math.Pow(0.005/mutexKind.Service(), 2); !within(drawn/constant, want, 0.05) {
		t.Errorf("a wait of %.4f s, and of %.4f s if holds vary; want %.2f times as long", constant, drawn, want)
	}
}

func within(got, want, share float64) bool { return got >= want*(1-share) && got <= want*(1+share) }

// A gap is explained by the assumption of the model that does not hold.
func TestExplainsGaps(t *testing.T) {
	scale := func(v **int64, by float64) { n := int64(float64(**v) * by); *v = &n }
	slower := func(r *result.Result) { x := *r.Throughput.AcquiredPerS * 0.6; r.Throughput.AcquiredPerS = &x }
	for _, c := range []struct {
		name   string
		kind   kind
		change func(r *result.Result)
		says   string
	}{
		{"hand-off", mutexKind, func(r *result.Result) { slower(r); scale(&r.Latency.Handoff.MeanNs, 3) }, "and took 1.8"},
		{"a herd", mutexKind, func(r *result.Result) { slower(r); n := 64.0; r.Server.WatchesFiredPerRelease = &n },
			"a herd effect: each release fires 64 watches"},
		{"late holds", mutexKind, func(r *result.Result) {
			slower(r)
			scale(&r.Latency.Hold.MeanNs, 1.8)
			n := int64(8e6)
			r.Hiccups = &result.Hiccups{P99Ns: &n}
		}, "sleeps came late by 8 ms at p99"},
		{"permits", kinds[2], slower, "one after the other"},
		{"nothing", mutexKind, slower, "not in the model"},
		{"faster", mutexKind, func(r *result.Result) { *r.Throughput.AcquiredPerS *= 1.5 }, "better than predicted"},
	} {
		s := Summarize(sweepInput(1, []kind{c.kind}, func(_ string, clients int, r *result.Result) {
			if clients == 64 {
				c.change(r)
			}
		}))
		for _, p := range s.Series[0].Points {
			if (p.Clients == 64) != strings.Contains(p.Cause, c.says) || (p.Clients == 64) != (p.Cause != "") {
				t.Errorf("%s, %d clients: %q, want %q", c.name, p.Clients, p.Cause, c.says)
			}
		}
	}
}

// A sweep whose throughput does not change with the locks has a law, and no R².
func TestOfConstantThroughput(t *testing.T) {
	in := shardInput()
	for _, p := range in.Points {
		x := 100.0
		p.Runs[0].Result.Throughput.AcquiredPerS = &x
	}
	s := Summarize(in)
	b, err := json.Marshal(s)
	if err != nil || s.Series[0].USL == nil || !strings.Contains(string(b), `"r2":null`) {
		t.Fatalf("%v, %+v", err, s.Series[0].USL)
	}
	if err := Render(t.TempDir(), s); err != nil {
		t.Error(err)
	}
}

// Many locks get the scalability law, searches their limits, and neither the other.
func TestOfLocksAndSearches(t *testing.T) {
	s := Summarize(shardInput())
	u := s.Series[0].USL
	if s.Load != "locks" || u == nil || !within(u.Lambda, 140, 0.1) || *u.R2 < 0.98 || u.To != 32 || u.Note != "" ||
		len(u.Residuals) != 6 {
		t.Errorf("load %s, %+v", s.Load, u)
	}
	// What the locks could do if they shared nothing is not the prediction if the law says less.
	for _, p := range s.Series[0].Points {
		if p.Predicted == nil || p.Gap == nil || *p.Gap > 0.1 || *p.Gap < -0.1 || p.Predicted.ByLaw != (p.Locks > 1) {
			t.Errorf("%d locks: %+v, gap %v", p.Locks, p.Predicted, p.Gap)
		} else if n := *p.Predicted.AcquireMeanNs; p.Locks > 1 &&
			!within(float64(n)/1e9, 64 / *p.AcquiredPerS - 0.0061, 0.12) {
			t.Errorf("%d locks: to get one takes %v", p.Locks, time.Duration(n))
		}
	}
	s = Summarize(searchInput())
	if len(s.Series) != 1 || s.Series[0].USL != nil || s.Series[0].Model != nil || s.Partial {
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
	for i := range in.Points {
		in.Points[i].Setting.Modelled = false
	}
	s := Summarize(in)
	p := s.Series[0].Points[3]
	if !s.Partial || p.Runs != 0 || p.AcquiredPerS != nil || p.Verdict != check.Unknown || p.Predicted != nil ||
		s.Series[0].Model != nil {
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
