package compare

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness/rundir"
	"locklab/reports/measure"
	"locklab/reports/result"
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
		{"the same", 6, 300, 300, Options{}, Pass, "each of 6 metrics"},
		{"twice as slow", 6, 300, 150, Options{}, Regressed, "acquired_per_s: "},
		{"a fifth slower", 6, 300, 250, Options{}, Regressed, "handoff.p50: "},
		{"twice as fast", 6, 300, 600, Options{}, Improved, "acquired_per_s: "},
		{"worse, but within the tolerance", 10, 300, 295, Options{}, Pass, ""},
		{"just at the tolerance", 10, 300, 286, Options{}, Inconclusive, "5 % is tolerated"},
		{"worse than a lower tolerance", 10, 300, 289, Options{Tolerate: map[string]float64{"handoff.p50": 0.01}},
			Regressed, "handoff.p50"},
		{"worse, but within higher tolerances", 6, 300, 250, Options{Metrics: []string{"handoff.p50"},
			Tolerate: map[string]float64{"latency.handoff.p50_ns": 0.5}}, Pass, ""},
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

// A loss in one metric alone is found in this metric, in its own direction, and in no other.
func TestEachMetricHasItsDirection(t *testing.T) {
	for _, c := range []struct {
		metric string
		worse  func(*result.Result)
	}{
		{"acquired_per_s", func(r *result.Result) { *r.Throughput.AcquiredPerS /= 1.6 }},
		{"acquire.p50", func(r *result.Result) { *r.Latency.Acquire.P50Ns *= 2 }},
		{"acquire.p99", func(r *result.Result) { *r.Latency.Acquire.P99Ns *= 2 }},
		{"handoff.p50", func(r *result.Result) { *r.Latency.Handoff.P50Ns *= 2 }},
		{"operations.not_acquired_share", func(r *result.Result) { r.Operations.TimedOut = r.Operations.Acquired / 4 }},
		{"server.requests_per_acquire", func(r *result.Result) { *r.Server.RequestsPerAcquire *= 2 }},
	} {
		for _, worseSide := range []string{"head", "base"} {
			// So that the ranks of six runs are in order, each has something of its own.
			base, head := writeSides(t, 6, 300, 300, func(side string, i int, s *runSpec) {
				s.edit = func(r *result.Result) {
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

// A quantity that is compared has a better direction, and a tolerance that can fail.
func TestComparedQuantitiesHaveLimits(t *testing.T) {
	for _, q := range result.Compared() {
		c := q.Compared
		if q.Better == result.Neither || c.Tolerance <= 0 || !c.Difference && c.Tolerance >= maxTolerance {
			t.Errorf("%s: better %v, tolerance %v", q.Name(), q.Better, c.Tolerance)
		}
	}
}

// A metric can be named by its short name and by its path in result.json.
func TestMetricsAreNamedEitherWay(t *testing.T) {
	for _, name := range []string{"acquire.p99", "latency.acquire.p99_ns", "acquired_per_s", "throughput.acquired_per_s"} {
		chosen, err := choose([]string{name}, nil)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, q := range chosen {
			if want := q.Name() == name || q.Path == name; q.Compared.Gates != want {
				t.Errorf("%s: %s gates: %t", name, q.Name(), q.Compared.Gates)
			}
		}
	}
	for _, name := range []string{"acquire", "p99", "acquire.p999", "operations.failed", ""} {
		if err := (Options{Metrics: []string{name}}).Check(); !errors.Is(err, ErrInput) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A pass promises that a larger loss than is tolerated would have been seen, so wide samples do not pass even
// if they look the same.
func TestWideSamplesDoNotPass(t *testing.T) {
	factors := []float64{0.8, 0.9, 0.97, 1.03, 1.1, 1.2}
	base, head := writeSides(t, 6, 300, 300, func(_ string, i int, s *runSpec) { s.throughput *= factors[(i*5)%6] })
	r, err := compareDirs(base, head, Options{})
	if err != nil || r.Verdict != Inconclusive || !strings.Contains(r.Reason, "5 % is tolerated") {
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

// Two sides may differ in keys that were named, and in those that they vary on purpose.
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
		if err != nil || r.Verdict != Regressed || len(r.Mismatches) != 1 ||
			r.Mismatches[0] != (Mismatch{"scenario.recipe", "mutex", "naive-mutex", "allowed"}) {
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
	plan := filepath.Join(filepath.Dir(base), DesignFile)
	write := func(v any) {
		b, err := json.Marshal(v)
		if err == nil {
			err = os.WriteFile(plan, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(Design{SchemaVersion: 1, Varied: []string{"recipe"}})
	if r, err := compareDirs(base, head, Options{}); err != nil || r.Verdict != Regressed || len(r.Mismatches) != 1 ||
		r.Mismatches[0].Why != "varied" {
		t.Errorf("varied: %s, %v, %v", r.Verdict, r.Mismatches, err)
	}
	for _, bad := range []any{Design{SchemaVersion: 2, Varied: []string{"recipe"}},
		Design{SchemaVersion: 1, Varied: []string{"hold"}}, []string{"recipe"}} {
		write(bad)
		if r, err := compareDirs(base, head, Options{}); !errors.Is(err, ErrInput) {
			t.Errorf("plan %v: %s, %v", bad, r.Verdict, err)
		}
	}
}

// A metric that no run has is ignored unless it was asked for. A metric that some runs lack is inconclusive.
func TestMetricsThatAreNotMeasured(t *testing.T) {
	without := func(edit func(*result.Result), of func(side string, i int) bool) (string, string) {
		return writeSides(t, 6, 300, 300, func(side string, i int, s *runSpec) {
			if of(side, i) {
				s.edit = edit
			}
		})
	}
	noHandoff := func(r *result.Result) { r.Latency.Handoff = measure.Latency{} }
	base, head := without(noHandoff, func(string, int) bool { return true })
	r, err := compareDirs(base, head, Options{})
	if l := lineOf(t, r, "handoff.p50"); err != nil || r.Verdict != Pass || l.Verdict != NotMeasured ||
		l.BaseMedian != nil {
		t.Errorf("%s (%s), %v; hand-off %s", r.Verdict, r.Reason, err, l.Verdict)
	}
	if b, err := Render("junit", r); err != nil || strings.Count(string(b), "<skipped") != 1 {
		t.Errorf("hand-off is not the one test that is skipped: %v\n%s", err, b)
	}
	if r, err := compareDirs(base, head, Options{Metrics: []string{"handoff.p50"}}); err != nil ||
		r.Verdict != Inconclusive {
		t.Errorf("asked for: %s (%s), %v", r.Verdict, r.Reason, err)
	}
	if r, err := compareDirs(base, head, Options{Metrics: []string{"handoff.p51"}}); !errors.Is(err, ErrInput) {
		t.Errorf("a metric that is none: %s (%s), %v", r.Verdict, r.Reason, err)
	}
	base, head = without(noHandoff, func(side string, i int) bool { return side == "head" && i == 5 })
	if r, err := compareDirs(base, head, Options{}); err != nil || r.Verdict != Inconclusive ||
		!strings.Contains(r.Reason, "run-05 has none") {
		t.Errorf("one lacks it: %s (%s), %v", r.Verdict, r.Reason, err)
	}
	// And without any number at all there is nothing that passes.
	base, head = without(func(r *result.Result) {
		r.Latency, r.Server, r.Throughput = result.LatencyByPhase{}, result.Server{}, result.Throughput{}
	}, func(string, int) bool { return true })
	if r, err := compareDirs(base, head, Options{}); err != nil || r.Verdict != Inconclusive {
		t.Errorf("no number: %s (%s), %v", r.Verdict, r.Reason, err)
	}
}

// Sides may have different binaries or different foreign locks, because those are compared. The report names them.
func TestAnotherBinaryIsNotAMismatch(t *testing.T) {
	base, head := writeSides(t, 6, 300, 300, func(side string, _ int, s *runSpec) {
		if side == "head" {
			s.change = replaceIn(rundir.EnvFile, `"locklab":"abc"`, `"locklab":"def","lock":"sha256:1"`)
		}
	})
	r, err := compareDirs(base, head, Options{})
	if err != nil || r.Verdict != Pass || r.Base.Locklab != "abc" || r.Head.Locklab != "def" ||
		r.Head.Lock != "sha256:1" || len(r.Mismatches) > 0 {
		t.Errorf("%s (%s), %+v, %+v, %v, %v", r.Verdict, r.Reason, r.Base, r.Head, r.Mismatches, err)
	}
}
