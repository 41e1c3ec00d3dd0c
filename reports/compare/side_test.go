package compare

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// A runSpec is a synthetic run directory; change, if not nil, damages it after it was written.
type runSpec struct {
	recipe     string
	throughput float64
	started    int64
	edit       func(*result.Result)
	change     func(dir string) error
}

const scenarioText = "" +
	"name: mutex\nseed: %d\nrecipe: %s\nclients: 64\nlocks: 1\nservers: 3\nstorage: disk\nexpect:\n  liveness: pass\n"

// resultOf returns a synthetic result, with all latencies in proportion.
func resultOf(throughput float64) result.Result {
	p := func(ns float64) *int64 { v := int64(ns); return &v }
	f := func(v float64) *float64 { return &v }
	handoff := 1e9 / throughput
	return result.Result{
		SchemaVersion: result.SchemaVersion, Scenario: "mutex", Recipe: "mutex", Verdict: evidence.Pass,
		Checks: []result.CheckLine{{Name: evidence.BeliefExclusion, Expected: evidence.ExpectPass, Result: evidence.Pass,
			Outcome: evidence.Pass}},
		Operations: measure.Operations{Acquired: int64(throughput * 3)},
		Throughput: result.Throughput{AcquiredPerS: f(throughput)},
		Latency: result.LatencyByPhase{
			Acquire: measure.Latency{Count: 1000, P50Ns: p(64 * handoff), P90Ns: p(70 * handoff), P99Ns: p(90 * handoff)},
			Handoff: measure.Latency{Count: 1000, P50Ns: p(handoff), P90Ns: p(1.5 * handoff), P99Ns: p(3 * handoff)},
		},
		Server: result.Server{RequestsPerAcquire: f(3), WatchesFiredPerRelease: f(1)},
	}
}

func (s runSpec) write(t *testing.T, dir string) {
	t.Helper()
	r := resultOf(s.throughput)
	if s.edit != nil {
		s.edit(&r)
	}
	result, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	recipe := s.recipe
	if recipe == "" {
		recipe = "mutex"
	}
	// Each run has an id of its own. The formats of records alternate, as they would around an update of locklab.
	env := fmt.Sprintf(`{"format":%d,"run":"lab-%d","lab":"docker","lab_id":"lab","kernel":"6.18","cpus":2,`+
		`"locklab":"abc","started_unix_ns":%d}`, 1+s.started%2, s.started, s.started)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{rundir.ResultFile: string(result),
		rundir.ScenarioFile: fmt.Sprintf(scenarioText, s.started, recipe), rundir.EnvFile: env} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if s.change != nil {
		if err := s.change(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// writeSides writes n runs per side that took turns. Their throughputs are within a few percent of base and head. edit,
// if not nil, may change a run before it is written.
func writeSides(t *testing.T, n int, base, head float64, edit func(side string, i int, s *runSpec)) (baseDir,
	headDir string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	dir := t.TempDir()
	for i := range n {
		for k, side := range []string{"base", "head"} {
			s := runSpec{started: int64(1000 + 2*i + k), throughput: []float64{base, head}[k] * (1 + 0.03*(rng.Float64()-0.5))}
			if edit != nil {
				edit(side, i, &s)
			}
			s.write(t, filepath.Join(dir, side, fmt.Sprintf("run-%02d", i)))
		}
	}
	return filepath.Join(dir, "base"), filepath.Join(dir, "head")
}

// compareDirs loads and compares, as the command does.
func compareDirs(base, head string, opts Options) (Report, error) {
	design, err := ReadDesign(base, head)
	if err != nil {
		return Report{}, err
	}
	opts.Varied, opts.Paired = append(opts.Varied, design.Varied...), opts.Paired || design.Paired
	b, err := Load(base)
	h, err2 := Load(head)
	if err == nil {
		err = err2
	}
	return Compare(b, h, opts, err)
}
