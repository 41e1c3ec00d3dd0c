package compare

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/reports"
)

func lineOf(t *testing.T, r Report, name string) Line {
	t.Helper()
	i := slices.IndexFunc(r.Metrics, func(l Line) bool { return l.Name == name })
	if i < 0 {
		t.Fatalf("no line for %s", name)
	}
	return r.Metrics[i]
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name       string
		runs       int
		base, head float64
		opts       Options
		want       Verdict
		reason     string
	}{
		{"the same", 6, 300, 300, Options{}, Pass, "none of 6 metrics"},
		{"twice as slow", 6, 300, 150, Options{}, Regressed, "throughput.acquired_per_s: "},
		{"a fifth slower", 6, 300, 250, Options{}, Regressed, "handoff.p50: "},
		{"twice as fast", 6, 300, 600, Options{}, Improved, "throughput.acquired_per_s: "},
		{"worse, but less than the floor", 10, 300, 289, Options{}, Pass, ""},
		{"worse than a lower floor", 10, 300, 289, Options{Floor: new(0.01)}, Regressed, ""},
		{"worse, but less than a higher floor", 6, 300, 150, Options{Floor: new(1.5)}, Pass, ""},
		{"too few for so many metrics", 4, 300, 150, Options{}, Inconclusive, "so few runs"},
		{"enough for one metric", 5, 300, 150, Options{Metrics: []string{"handoff.p50"}}, Regressed, "handoff.p50"},
	} {
		base, head := writeSides(t, c.runs, c.base, c.head, nil)
		r, err := compareDirs(base, head, c.opts)
		if err != nil || r.Verdict != c.want || !strings.Contains(r.Reason, c.reason) {
			t.Errorf("%s: %s (%s), %v; want %s", c.name, r.Verdict, r.Reason, err, c.want)
		}
		if len(r.Warnings) > 0 {
			t.Errorf("%s: warnings %q", c.name, r.Warnings)
		}
	}
}

// What is worse in one metric alone is found in it, in the direction that is worse
// for it, and nowhere else.
func TestEachMetricHasItsDirection(t *testing.T) {
	for _, c := range []struct {
		metric string
		worse  func(*reports.Result)
	}{
		{"throughput.acquired_per_s", func(r *reports.Result) { *r.Throughput.AcquiredPerS /= 1.6 }},
		{"acquire.p50", func(r *reports.Result) { *r.Latency.Acquire.P50Ns *= 2 }},
		{"acquire.p99", func(r *reports.Result) { *r.Latency.Acquire.P99Ns *= 2 }},
		{"handoff.p50", func(r *reports.Result) { *r.Latency.Handoff.P50Ns *= 2 }},
		{"operations.not_acquired_share", func(r *reports.Result) { r.Operations.TimedOut = r.Operations.Acquired / 4 }},
		{"server.requests_per_acquire", func(r *reports.Result) { *r.Server.RequestsPerAcquire *= 2 }},
	} {
		for _, worseSide := range []string{"head", "base"} {
			// So that the ranks of six runs are in order, each has something of its own.
			base, head := writeSides(t, 6, 300, 300, func(side string, i int, s *runSpec) {
				s.edit = func(r *reports.Result) {
					*r.Server.RequestsPerAcquire += float64(i) / 100
					if side == worseSide {
						c.worse(r)
					}
				}
			})
			r, err := compareDirs(base, head, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]Verdict{"head": Regressed, "base": Improved}[worseSide]
			for _, l := range r.Metrics {
				switch {
				case l.Name == c.metric && l.Verdict != want:
					t.Errorf("%s worse in %s: %s (%s), want %s", c.metric, worseSide, l.Verdict, l.Reason, want)
				case l.Name != c.metric && l.Gates && l.Verdict != Pass:
					t.Errorf("%s worse in %s: %s is %s (%s)", c.metric, worseSide, l.Name, l.Verdict, l.Reason)
				}
			}
			if r.Verdict != want {
				t.Errorf("%s worse in %s: %s (%s), want %s", c.metric, worseSide, r.Verdict, r.Reason, want)
			}
		}
	}
}

// Every number of a run says what a change of it means, and no rule is of none.
func TestEveryQuantityHasARule(t *testing.T) {
	known := map[string]bool{}
	for _, q := range reports.Quantities() {
		known[q.Name] = true
		if _, ok := rules[q.Name]; !ok {
			t.Errorf("%s is not compared", q.Name)
		}
	}
	for name, m := range rules {
		if !known[name] {
			t.Errorf("a rule for %s, which is no number of a run", name)
		}
		if m.Floor <= 0 || m.Tolerated < m.Floor {
			t.Errorf("%s: floor %v, tolerated %v", name, m.Floor, m.Tolerated)
		}
	}
}

// A pass promises that a loss of a fifth would have been seen: wide samples do not
// pass, even if they look the same.
func TestWideSamplesDoNotPass(t *testing.T) {
	factors := []float64{0.8, 0.9, 0.97, 1.03, 1.1, 1.2}
	base, head := writeSides(t, 6, 300, 300, func(_ string, i int, s *runSpec) { s.throughput *= factors[(i*5)%6] })
	r, err := compareDirs(base, head, Options{})
	if err != nil || r.Verdict != Inconclusive || !strings.Contains(r.Reason, "20 % would matter") {
		t.Errorf("%s (%s), %v", r.Verdict, r.Reason, err)
	}
}

func TestNoisyMachine(t *testing.T) {
	for _, c := range []struct {
		name    string
		factors []float64
		head    float64
		reason  string
	}{
		{"scattered, and worse", []float64{0.3, 1, 0.5, 1.7, 1.4, 0.8}, 30, "noise of the machine"},
		{"drifting, and worse", []float64{1, 0.94, 0.88, 0.82, 0.76, 0.7}, 30, "drifted by"},
		{"rising", []float64{0.7, 0.76, 0.82, 0.88, 0.94, 1}, 300, "drifted by +"},
	} {
		base, head := writeSides(t, 6, 300, c.head, func(_ string, i int, s *runSpec) { s.throughput *= c.factors[i] })
		r, err := compareDirs(base, head, Options{})
		if err != nil || r.Verdict != Inconclusive || !strings.Contains(r.Reason, c.reason) {
			t.Errorf("%s: %s (%s), %v; want it inconclusive because %q", c.name, r.Verdict, r.Reason, err, c.reason)
		}
	}
}

func TestSidesThatDidNotTakeTurns(t *testing.T) {
	base, head := writeSides(t, 6, 300, 300, func(side string, _ int, s *runSpec) {
		if side == "head" {
			s.started += 1000
		}
	})
	r, err := compareDirs(base, head, Options{})
	if err != nil || r.Verdict != Pass || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "take turns") {
		t.Errorf("%s, warnings %q, %v", r.Verdict, r.Warnings, err)
	}
}

// Two sides may differ in what somebody named, and in what they were made to.
func TestAllowedMismatch(t *testing.T) {
	sides := func() (base, head string) {
		return writeSides(t, 6, 300, 100, func(side string, _ int, s *runSpec) {
			if side == "head" {
				s.recipe = "naive-mutex"
			}
		})
	}
	for _, key := range []string{"recipe", "scenario.recipe"} {
		base, head := sides()
		r, err := compareDirs(base, head, Options{AllowMismatch: []string{key}})
		if err != nil || r.Verdict != Regressed || len(r.Mismatches) != 1 || r.Mismatches[0] != (Mismatch{"scenario.recipe", "mutex", "naive-mutex", "allowed"}) {
			t.Errorf("--allow-mismatch %s: %s, %v, %v", key, r.Verdict, r.Mismatches, err)
		}
	}
	for _, key := range []string{"clients", "recip", "env.recipe"} {
		base, head := sides()
		if r, err := compareDirs(base, head, Options{AllowMismatch: []string{key}}); !errors.Is(err, ErrInput) {
			t.Errorf("--allow-mismatch %s: %s, %v", key, r.Verdict, err)
		}
	}
	base, head := sides()
	plan := filepath.Join(filepath.Dir(base), PlanFile)
	write := func(v any) {
		b, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(plan, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(Plan{SchemaVersion: 1, Varied: []string{"recipe"}})
	if r, err := compareDirs(base, head, Options{}); err != nil || r.Verdict != Regressed || len(r.Mismatches) != 1 || r.Mismatches[0].Why != "varied" {
		t.Errorf("varied: %s, %v, %v", r.Verdict, r.Mismatches, err)
	}
	for _, bad := range []any{Plan{SchemaVersion: 2, Varied: []string{"recipe"}}, Plan{SchemaVersion: 1, Varied: []string{"hold"}}, []string{"recipe"}} {
		write(bad)
		if r, err := compareDirs(base, head, Options{}); !errors.Is(err, ErrInput) {
			t.Errorf("plan %v: %s, %v", bad, r.Verdict, err)
		}
	}
}

// A metric that no run has says nothing, unless it was asked for; one that some
// lack is inconclusive.
func TestMetricsThatAreNotThere(t *testing.T) {
	without := func(edit func(*reports.Result), of func(side string, i int) bool) (string, string) {
		return writeSides(t, 6, 300, 300, func(side string, i int, s *runSpec) {
			if of(side, i) {
				s.edit = edit
			}
		})
	}
	noHandoff := func(r *reports.Result) { r.Latency.Handoff = reports.Latency{} }
	base, head := without(noHandoff, func(string, int) bool { return true })
	r, err := compareDirs(base, head, Options{})
	if l := lineOf(t, r, "handoff.p50"); err != nil || r.Verdict != Pass || l.Verdict != NotMeasured || l.BaseMedian != nil {
		t.Errorf("%s (%s), %v; hand-off %s", r.Verdict, r.Reason, err, l.Verdict)
	}
	if r, err := compareDirs(base, head, Options{Metrics: []string{"handoff.p50"}}); err != nil || r.Verdict != Inconclusive {
		t.Errorf("asked for: %s (%s), %v", r.Verdict, r.Reason, err)
	}
	if r, err := compareDirs(base, head, Options{Metrics: []string{"handoff.p51"}}); !errors.Is(err, ErrInput) {
		t.Errorf("a metric that is none: %s (%s), %v", r.Verdict, r.Reason, err)
	}
	base, head = without(noHandoff, func(side string, i int) bool { return side == "head" && i == 5 })
	if r, err := compareDirs(base, head, Options{}); err != nil || r.Verdict != Inconclusive || !strings.Contains(r.Reason, "run-05 has none") {
		t.Errorf("one lacks it: %s (%s), %v", r.Verdict, r.Reason, err)
	}
	// And without any number at all there is nothing that passes.
	base, head = without(func(r *reports.Result) {
		r.Latency, r.Server, r.Throughput = reports.LatencyByPhase{}, reports.Server{}, reports.Throughput{}
	}, func(string, int) bool { return true })
	if r, err := compareDirs(base, head, Options{}); err != nil || r.Verdict != Inconclusive {
		t.Errorf("no number: %s (%s), %v", r.Verdict, r.Reason, err)
	}
}

// Another binary, or another lock behind the protocol, is what a comparison is
// about: it is named, and no mismatch.
func TestAnotherBinaryIsTheQuestion(t *testing.T) {
	base, head := writeSides(t, 6, 300, 300, func(side string, _ int, s *runSpec) {
		if side == "head" {
			s.change = replaceIn(envFile, `"locklab":"abc"`, `"locklab":"def","lock":"sha256:1"`)
		}
	})
	r, err := compareDirs(base, head, Options{})
	if err != nil || r.Verdict != Pass || r.Base.Locklab != "abc" || r.Head.Locklab != "def" || r.Head.Lock != "sha256:1" || len(r.Mismatches) > 0 {
		t.Errorf("%s (%s), %+v, %+v, %v, %v", r.Verdict, r.Reason, r.Base, r.Head, r.Mismatches, err)
	}
}
