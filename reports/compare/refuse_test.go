package compare

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
	"locklab/reports/result"
)

// replaceIn rewrites a file of a run directory.
func replaceIn(file, old, replacement string) func(string) error {
	return func(dir string) error {
		name := filepath.Join(dir, file)
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if !bytes.Contains(b, []byte(old)) {
			return errors.New(file + " has no " + old)
		}
		return os.WriteFile(name, bytes.Replace(b, []byte(old), []byte(replacement), 1), 0o644)
	}
}

func overwrite(file, text string) func(string) error {
	return func(dir string) error { return os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644) }
}

func truncate(file string, share int64) func(string) error {
	return func(dir string) error {
		name := filepath.Join(dir, file)
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		return os.Truncate(name, info.Size()*share/100)
	}
}

func remove(file string) func(string) error {
	return func(dir string) error { return os.Remove(filepath.Join(dir, file)) }
}

// A comparison with a damaged run directory on either side does not pass. It is refused (exit 2) or inconclusive
// (exit 6), and the reason names the directory.
func TestDamagedRunsNeverPass(t *testing.T) {
	if testing.Short() {
		t.Skip("compares many runs")
	}
	const (
		refused       = Verdict("refused")
		refusedWithin = Verdict("refused within a side") // and the matter itself between sides
	)
	for _, c := range []struct {
		name   string
		edit   func(*result.Result)
		change func(string) error
		want   Verdict
		reason string
	}{
		{"truncated result", nil, truncate(rundir.ResultFile, 50), refused, "result.json: "},
		{"empty result", nil, truncate(rundir.ResultFile, 0), refused, "result.json: unexpected end"},
		{"no result", nil, remove(rundir.ResultFile), refused, "has no result.json"},
		{"no scenario", nil, remove(rundir.ScenarioFile), refused, "has no scenario.yaml"},
		{"no environment", nil, remove(rundir.EnvFile), refused, "has no env.json"},
		{"truncated environment", nil, truncate(rundir.EnvFile, 60), refused, "env.json"},
		{"empty scenario", nil, truncate(rundir.ScenarioFile, 0), refused, "scenario.yaml: it is empty"},
		{"broken scenario", nil, overwrite(rundir.ScenarioFile, "name: [\n"), refused, "scenario.yaml"},
		{"scenario that is a list", nil, overwrite(rundir.ScenarioFile, "- name\n"), refused, "scenario.yaml"},
		{"environment of no run", nil, overwrite(rundir.EnvFile, `{"lab":"docker"}`), refused, "started_unix_ns"},
		{"result is null", nil, overwrite(rundir.ResultFile, "null"), refused, "schema_version"},
		{"result is a list", nil, overwrite(rundir.ResultFile, "[]"), refused, "result.json"},
		{"result of another program", nil, overwrite(rundir.ResultFile, `{"requests":100,"latency":"fast"}`), refused,
			"no schema_version"},
		{"result and more", nil, replaceIn(rundir.ResultFile, `{`, `{"schema_version":1}{`), refused, "result.json"},
		{"other schema version", func(r *result.Result) { r.SchemaVersion = 2 }, nil, refused, "schema_version is 2"},
		{"schema version 0", func(r *result.Result) { r.SchemaVersion = 0 }, nil, refused, "schema_version is 0"},
		{"no checks", func(r *result.Result) { r.Checks = nil }, nil, refused, "it has no checks"},
		{"passed with a check that is unknown", func(r *result.Result) { r.Checks[0].Outcome = evidence.Unknown }, nil,
			refused, "came out as unknown"},
		{"NaN", nil, replaceIn(rundir.ResultFile, `"acquired_per_s":`, `"acquired_per_s":NaN,"was":`), refused,
			"invalid character 'N'"},
		{"infinite", nil, replaceIn(rundir.ResultFile, `"acquired_per_s":`, `"acquired_per_s":1e999,"was":`), refused,
			"1e999"},
		{"a string for a number", nil, replaceIn(rundir.ResultFile, `"acquired_per_s":`, `"acquired_per_s":"fast","was":`),
			refused, "acquired_per_s"},
		{"negative throughput", func(r *result.Result) { *r.Throughput.AcquiredPerS = -1 }, nil, refused,
			"acquired_per_s is -1"},
		{"negative latency", func(r *result.Result) { *r.Latency.Handoff.P50Ns = -5 }, nil, refused, "handoff.p50 is -5"},
		{"no verdict", func(r *result.Result) { r.Verdict = "" }, nil, refused, `verdict is ""`},
		{"a verdict that is none", func(r *result.Result) { r.Verdict = "great" }, nil, refused, `verdict is "great"`},
		{"only a schema version", nil, overwrite(rundir.ResultFile, `{"schema_version":1}`), refused, "verdict"},
		{"another recipe", nil, replaceIn(rundir.ScenarioFile, "recipe: mutex", "recipe: naive-mutex"), refused,
			"scenario.recipe: "},
		{"another kernel", nil, replaceIn(rundir.EnvFile, "6.18", "6.19"), refused, "env.kernel"},
		{"another expectation", nil, replaceIn(rundir.ScenarioFile, "liveness: pass", "liveness: any"), refused,
			"scenario.expect.liveness"},
		{"a key more", nil, replaceIn(rundir.ScenarioFile, "clients: 64", "clients: 64\nthink: 7ms"), refused,
			"scenario.think"},

		{"one of another binary's clients", nil, replaceIn(rundir.EnvFile, `"cpus":2`, `"cpus":2,"client_binary":"x"`),
			refusedWithin, "env.client_binary"},
		{"one of another lock", nil, replaceIn(rundir.EnvFile, `"cpus":2`, `"cpus":2,"lock":"x"`), refusedWithin, "env.lock"},
		{"one of another binary", nil, replaceIn(rundir.EnvFile, "abc", "def"), refusedWithin, "env.locklab"},

		{"partial", func(r *result.Result) { r.Partial = true }, nil, Inconclusive, "is a partial run"},
		{"unknown", func(r *result.Result) { r.Verdict = evidence.Unknown }, nil, Inconclusive, "is unknown"},
		{"acquired nothing", func(r *result.Result) { r.Operations.Acquired = 0 }, nil, Inconclusive, "acquired nothing"},
		{"throughput of 0", func(r *result.Result) { *r.Throughput.AcquiredPerS = 0 }, nil, Inconclusive,
			"acquired_per_s: it is 0"},
		{"no throughput", func(r *result.Result) { r.Throughput.AcquiredPerS = nil }, nil, Inconclusive, "has no throughput"},
		{"no latency", func(r *result.Result) { r.Latency.Acquire.P99Ns = nil }, nil, Inconclusive, "acquire.p99:"},
	} {
		for _, side := range []string{"base", "head"} {
			// One run that is damaged, and a side of nothing else.
			for _, all := range []bool{false, true} {
				name := c.name + " in " + side
				if all {
					name += ", each run"
				}
				if c.want == refusedWithin && all {
					continue
				}
				t.Run(name, func(t *testing.T) {
					base, head := writeSides(t, 6, 300, 300, func(s string, i int, spec *runSpec) {
						if s == side && (all || i == 2) {
							spec.edit, spec.change = c.edit, c.change
						}
					})
					r, err := compareDirs(base, head, Options{})
					reason := r.Reason
					if err != nil {
						reason = err.Error()
					}
					switch {
					case (c.want == refused || c.want == refusedWithin) && !errors.Is(err, ErrInput):
						t.Fatalf("came to %s (%s), error %v; want it refused", r.Verdict, r.Reason, err)
					case c.want == Inconclusive && (err != nil || r.Verdict != c.want):
						t.Fatalf("came to %s (%s), error %v; want %s", r.Verdict, r.Reason, err, c.want)
					}
					if !strings.Contains(reason, c.reason) {
						t.Errorf("reason %q does not say %q", reason, c.reason)
					}
				})
			}
		}
	}
}

// A comparison with a wrong folder or path does not pass either.
func TestDamagedSidesNeverPass(t *testing.T) {
	good, other := writeSides(t, 6, 300, 300, nil)
	dir := t.TempDir()
	empty, foreign, mixed, file := filepath.Join(dir, "empty"), filepath.Join(dir, "foreign"),
		filepath.Join(dir, "mixed"), filepath.Join(dir, "file")
	for _, d := range []string{empty, filepath.Join(foreign, "src"), mixed} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		runSpec{throughput: 300, started: int64(2000 + i), recipe: []string{"mutex", "naive-mutex"}[i%2]}.write(t,
			filepath.Join(mixed, string(rune('a'+i))))
	}
	again := filepath.Join(dir, "again")
	if err := os.Symlink(good, again); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "copied")
	if err := os.CopyFS(copied, os.DirFS(good)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, base, head, reason string }{
		{"does not exist", filepath.Join(dir, "nowhere"), good, "there is no directory"},
		{"empty", empty, good, "empty holds no run"},
		{"of something else", foreign, good, "foreign holds no run"},
		{"a file", file, good, "file is not a directory"},
		{"two configurations on one side", mixed, good, "are on one side but of different configurations: scenario.recipe"},
		{"the same folder twice", good, good, "are the same run"},
		{"the same folder by another name", good, again, "are the same run"},
		{"a copy", good, copied, "are the same run"},
		{"a folder and a run in it", good, filepath.Join(good, "run-03"), "are the same run"},
	} {
		for _, swapped := range []bool{false, true} {
			base, head := c.base, c.head
			if swapped {
				base, head = head, base
			}
			if r, err := compareDirs(base, head, Options{}); !errors.Is(err, ErrInput) ||
				!strings.Contains(err.Error(), c.reason) {
				t.Errorf("%s: came to %s, error %v; want it refused because %q", c.name, r.Verdict, err, c.reason)
			}
		}
	}
	if r, err := compareDirs(good, other, Options{}); err != nil || r.Verdict != Pass {
		t.Errorf("the control came to %s (%s), %v", r.Verdict, r.Reason, err)
	}
	// A copy among its own: six samples that are five.
	if err := os.CopyFS(filepath.Join(other, "run-99"), os.DirFS(filepath.Join(other, "run-00"))); err != nil {
		t.Fatal(err)
	}
	if r, err := compareDirs(good, other, Options{}); !errors.Is(err, ErrInput) {
		t.Errorf("a copied sample came to %s, error %v", r.Verdict, err)
	}
}

// Too few runs are inconclusive, whatever their numbers.
func TestTooFewRuns(t *testing.T) {
	for n := 1; n < MinRuns; n++ {
		base, head := writeSides(t, n, 300, 30, nil)
		if r, err := compareDirs(base, head, Options{}); err != nil || r.Verdict != Inconclusive ||
			!strings.Contains(r.Reason, "at least 4") {
			t.Errorf("%d a side: %s (%s), %v", n, r.Verdict, r.Reason, err)
		}
	}
	base, head := writeSides(t, 1, 300, 30, nil)
	r, err := compareDirs(filepath.Join(base, "run-00"), filepath.Join(head, "run-00"), Options{})
	if err != nil || r.Verdict != Inconclusive || r.Base.Runs != 1 {
		t.Errorf("a run against a run: %s (%s), %v", r.Verdict, r.Reason, err)
	}
}

// A violation in the head is reported whatever else is wrong on either side.
func TestViolationBeatsAll(t *testing.T) {
	fail := func(r *result.Result) {
		r.Verdict = evidence.Fail
		r.Checks[0].Result, r.Checks[0].Outcome, r.Checks[0].Summary = evidence.Fail, evidence.Fail, "two at once"
	}
	for name, spoil := range map[string]func(side string, i int, s *runSpec){
		"nothing else": nil,
		"faster, too": func(side string, _ int, s *runSpec) {
			s.throughput *= map[string]float64{"base": 1,
				"head": 3}[side]
		},
		"partial": func(_ string, i int, s *runSpec) { s.edit = func(r *result.Result) { r.Partial = true } },
		"base damaged": func(side string, i int, s *runSpec) {
			if side == "base" && i == 0 {
				s.change = remove(rundir.ResultFile)
			}
		},
		"head damaged": func(side string, i int, s *runSpec) {
			if side == "head" && i == 0 {
				s.change = truncate(rundir.ResultFile, 30)
			}
		},
		"another configuration": func(side string, _ int, s *runSpec) {
			s.recipe = map[string]string{"base": "mutex", "head": "none"}[side]
		},
	} {
		base, head := writeSides(t, 6, 300, 300, func(side string, i int, s *runSpec) {
			if spoil != nil {
				spoil(side, i, s)
			}
			if side == "head" && i == 4 {
				s.edit = fail
			}
		})
		r, err := compareDirs(base, head, Options{})
		if err != nil || r.Verdict != Violation || !strings.Contains(r.Reason, "run-04: belief-exclusion: two at once") {
			t.Errorf("%s: %s (%s), %v; want a violation", name, r.Verdict, r.Reason, err)
		}
	}
	// A verdict without a check that says so, and a check without its verdict.
	for name, edit := range map[string]func(*result.Result){
		"verdict only": func(r *result.Result) { r.Verdict = evidence.Fail },
		"check only":   func(r *result.Result) { r.Checks[0].Outcome = evidence.Fail },
	} {
		base, head := writeSides(t, 6, 300, 300, func(side string, i int, s *runSpec) {
			if side == "head" && i == 4 {
				s.edit = edit
			}
		})
		if r, err := compareDirs(base, head, Options{}); err != nil || r.Verdict != Violation {
			t.Errorf("%s: %s (%s), %v; want a violation", name, r.Verdict, r.Reason, err)
		}
	}
	// In the base it only spoils the comparison.
	base, head := writeSides(t, 6, 300, 300, func(side string, i int, s *runSpec) {
		if side == "base" && i == 4 {
			s.edit = fail
		}
	})
	if r, err := compareDirs(base, head, Options{}); err != nil || r.Verdict != Inconclusive ||
		!strings.Contains(r.Reason, "run-04 failed its checks") {
		t.Errorf("in the base: %s (%s), %v; want inconclusive", r.Verdict, r.Reason, err)
	}
}

// Thresholds are limits on a run. A run that misses one, or for which one is unknown, is compared nevertheless. A run
// that fails or is unknown for another reason is not.
func TestThresholdsDoNotGate(t *testing.T) {
	line := func(v evidence.Result) []result.ThresholdLine {
		return []result.ThresholdLine{{Expr: "x < 1", Verdict: v}}
	}
	doubt := result.CheckLine{Name: evidence.Liveness, Expected: evidence.ExpectPass, Result: evidence.Unknown,
		Outcome: evidence.Unknown}
	broken := result.CheckLine{Name: evidence.Effect, Expected: evidence.ExpectPass, Result: evidence.Fail,
		Outcome: evidence.Fail}
	for _, c := range []struct {
		name string
		edit func(*result.Result)
		want Verdict
	}{
		{"missed", func(r *result.Result) { r.Verdict, r.Thresholds = evidence.Fail, line(evidence.Fail) }, Pass},
		{"unknown", func(r *result.Result) { r.Verdict, r.Thresholds = evidence.Unknown, line(evidence.Unknown) }, Pass},
		{"unknown beside a check", func(r *result.Result) {
			r.Verdict, r.Thresholds, r.Checks = evidence.Unknown, line(evidence.Unknown), append(r.Checks, doubt)
		}, Inconclusive},
		{"unknown, though it was met", func(r *result.Result) {
			r.Verdict, r.Thresholds = evidence.Unknown,
				line(evidence.Pass)
		}, Inconclusive},
		{"missed beside a violation", func(r *result.Result) {
			r.Verdict, r.Thresholds, r.Checks = evidence.Fail, line(evidence.Fail), append(r.Checks, broken)
		}, Violation},
		{"fail, though it was met", func(r *result.Result) { r.Verdict, r.Thresholds = evidence.Fail, line(evidence.Pass) },
			Violation},
	} {
		base, head := writeSides(t, 6, 300, 300, func(side string, _ int, s *runSpec) {
			if side == "head" {
				s.edit = c.edit
			}
		})
		if r, err := compareDirs(base, head, Options{}); err != nil || r.Verdict != c.want {
			t.Errorf("%s: %s (%s), %v; want %s", c.name, r.Verdict, r.Reason, err, c.want)
		}
	}
}
