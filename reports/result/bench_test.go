package result

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"locklab/reports/internal/synth"
	"locklab/reports/measure"
)

// readBench reads a benchmark file as benchstat does; a line that it would skip with a warning is an error.
func readBench(t *testing.T, text []byte) []*benchfmt.Result {
	t.Helper()
	var all []*benchfmt.Result
	r := benchfmt.NewReader(bytes.NewReader(text), "bench.txt")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			all = append(all, rec.Clone())
		case *benchfmt.SyntaxError:
			t.Error(rec)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// Readers that know one value only get a duration, and those that know units learn of which more is better.
func TestBenchUnits(t *testing.T) {
	var b bytes.Buffer
	if err := WriteBench(&b, summarized(synth.BusyRun(12, 4, false))); err != nil {
		t.Fatal(err)
	}
	r := benchfmt.NewReader(bytes.NewReader(b.Bytes()), "bench.txt")
	for r.Scan() {
		got, ok := r.Result().(*benchfmt.Result)
		if ok && got.Values[0].OrigUnit != "acquire-p50-ns" {
			t.Errorf("the first value is in %s, want acquire-p50-ns:\n%s", got.Values[0].OrigUnit, b.String())
		}
	}
	for unit, want := range map[string]int{"acquired/s": 1, "jain-index": 1, "acquire-p50-ns": 0, "not-acquired/op": 0} {
		if better := r.Units().GetBetter(unit); better != want || !strings.Contains(b.String(), " "+unit) {
			t.Errorf("%s: %d is better, want %d:\n%s", unit, better, want, b.String())
		}
	}
}

func TestBenchIsReadAsWritten(t *testing.T) {
	run := summarized(synth.BusyRun(12, 4, false))
	run.Scenario = "two words"
	var b bytes.Buffer
	if err := WriteBench(&b, run); err != nil {
		t.Fatal(err)
	}
	all := readBench(t, b.Bytes())
	if len(all) != 1 {
		t.Fatalf("%d lines in\n%s", len(all), b.String())
	}
	got := all[0]
	if name := string(got.Name); name != "Lock/two_words" || int64(got.Iters) != run.Operations.Acquired {
		t.Errorf("%s of %d", name, got.Iters)
	}
	if recipe := got.GetConfig("recipe"); recipe != run.Recipe {
		t.Errorf("recipe %q, want %q", recipe, run.Recipe)
	}
	if seed := got.GetConfig("seed"); seed != "" {
		t.Errorf("seed %s would put each run into a row of its own", seed)
	}
	for unit, want := range map[string]float64{"acquired/s": *run.Throughput.AcquiredPerS,
		"acquire-p50-sec": float64(*run.Latency.Acquire.P50Ns) / 1e9,
		"handoff-p50-sec": float64(*run.Latency.Handoff.P50Ns) / 1e9, "not-acquired/op": *notAcquired(&run)} {
		if v, ok := got.Value(unit); !ok || v < want*(1-1e-12) || v > want*(1+1e-12) {
			t.Errorf("%s %v, %t; want %v", unit, v, ok, want)
		}
	}
	if run.Server.RequestsPerAcquire == nil && strings.Contains(b.String(), "requests") {
		t.Error("what was not measured has a value")
	}
}

// A run that acquired nothing is not a sample.
func TestBenchOfARunWithoutGrants(t *testing.T) {
	var b bytes.Buffer
	if err := WriteBench(&b, Result{Scenario: "mutex"}); err != nil || b.Len() > 0 {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func TestQuantitiesHaveNamesAndUnitsOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range Quantities() {
		if seen[q.Name()] || seen[q.Path] {
			t.Errorf("%s has no name of its own", q.Path)
		}
		seen[q.Name()], seen[q.Path] = true, true
	}
	for _, q := range Compared() {
		if q.Bench() == "" || seen[q.Bench()] {
			t.Errorf("%s has no unit of its own in bench.txt: %q", q.Name(), q.Bench())
		}
		seen[q.Bench()] = true
	}
}

func TestShareNotAcquired(t *testing.T) {
	r := Result{Operations: measure.Operations{Acquired: 6, TimedOut: 1, Failed: 1, Unknown: 1, Censored: 1}}
	if v := notAcquired(&r); v == nil || *v != 0.4 {
		t.Errorf("%v, want 0.4", v)
	}
	if v := notAcquired(&Result{}); v != nil {
		t.Errorf("%v of no operation at all", *v)
	}
}
