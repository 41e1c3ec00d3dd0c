package run

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/reports/result"
)

// mutilate makes the directories that a killed harness may leave out of the directory of an incomplete run, and
// judges and draws each of them.
func mutilate(t *testing.T, dir string) {
	raw := map[string][]byte{}
	var names []string
	for name, b := range files(t, dir) {
		if !derived(name) {
			raw[name] = b
			names = append(names, name)
		}
	}
	slices.Sort(names)
	const seed, rounds = 11, 12
	rng := rand.New(rand.NewPCG(seed, 0))
	for round := range rounds {
		t.Run(fmt.Sprintf("mutilated %d of seed %d", round, seed), func(t *testing.T) {
			cut := t.TempDir()
			var done []string
			for _, name := range names {
				b := raw[name]
				if name != rundir.ScenarioFile {
					switch rng.IntN(4) {
					case 0:
						done = append(done, "without "+name)
						continue
					case 1:
						if !strings.HasSuffix(name, ".json") { // those are written whole
							b = b[:rng.IntN(len(b)+1)]
							done = append(done, fmt.Sprintf("%s cut to %d", name, len(b)))
						}
					}
				}
				path := filepath.Join(cut, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			wantReadable(t, cut)
			if t.Failed() {
				t.Log(strings.Join(done, ", "))
			}
		})
	}
}

// wantReadable judges and draws an incomplete run.
func wantReadable(t *testing.T, dir string) {
	t.Helper()
	out, err := judge.Check(dir)
	if err != nil {
		t.Error(err)
		return
	}
	if !out.Result.Partial || out.Result.Verdict == evidence.Pass {
		t.Errorf("partial %v, verdict %s", out.Result.Partial, out.Result.Verdict)
	}
	if r := readResult(t, dir); !r.Partial {
		t.Error("result.json does not say partial")
	}
	if _, err := judge.Report(dir); err != nil {
		t.Error(err)
	}
	page, err := os.ReadFile(rundir.ReportPath(dir))
	if err != nil || !strings.Contains(strings.ToLower(string(page)), "partial") {
		t.Errorf("the report does not say partial (%v)", err)
	}
}

// A run directory is readable from its first moment on, because the result is written before the file that makes it a
// run directory.
func TestBegunDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	sc := load(t, small)
	if err := rundir.CreateDir(dir, sc, sc.Plan(nil), result.Begun(sc)); err != nil {
		t.Fatal(err)
	}
	if r := readResult(t, dir); !r.Partial || r.Seed != 7 {
		t.Errorf("result of a run that has begun: %+v", r)
	}
	wantReadable(t, dir)
}

// A directory that is not empty is refused, and nothing in it is touched.
func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	for _, d := range []string{dir, filepath.Join(dir, "new", "deep")} {
		if err := rundir.CheckDir(d); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, file, filepath.Join(file, "below")} {
		err := rundir.CheckDir(d)
		if err == nil {
			t.Errorf("%s was taken", d)
			continue
		}
		t.Log(err)
		if _, err := judge.Conclude(d); err == nil {
			t.Errorf("%s was judged", d)
		}
	}
}
