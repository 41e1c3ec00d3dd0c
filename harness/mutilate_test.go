package harness

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness/check"
)

// mutilate makes of a run directory what a harness that was killed may leave, in
// many ways, and has each judged and drawn. The run itself did not come to its end.
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
				if name != scenarioFile {
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

// wantReadable judges and draws a run that did not come to its end.
func wantReadable(t *testing.T, dir string) {
	t.Helper()
	out, err := Check(dir)
	if err != nil {
		t.Error(err)
		return
	}
	if !out.Result.Partial || out.Result.Verdict == check.Pass {
		t.Errorf("partial %v, verdict %s", out.Result.Partial, out.Result.Verdict)
	}
	if r := readResult(t, dir); !r.Partial {
		t.Error("result.json does not say partial")
	}
	if _, err := Report(dir); err != nil {
		t.Error(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil || !strings.Contains(strings.ToLower(string(page)), "partial") {
		t.Errorf("the report does not say partial (%v)", err)
	}
}

// A run directory is readable from its first moment on: the result is there
// before what makes the directory a run's.
func TestBegunDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	sc := load(t, small)
	if err := createDir(dir, sc, sc.Plan(nil)); err != nil {
		t.Fatal(err)
	}
	if r := readResult(t, dir); !r.Partial || r.Seed != 7 {
		t.Errorf("result of a run that has begun: %+v", r)
	}
	wantReadable(t, dir)
}

// A directory that a run cannot have is refused, and nothing in it is touched.
func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	for _, d := range []string{dir, filepath.Join(dir, "new", "deep")} {
		if err := checkDir(d); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, file, filepath.Join(file, "below")} {
		err := checkDir(d)
		if err == nil {
			t.Errorf("%s was taken", d)
			continue
		}
		t.Log(err)
		if _, err := Conclude(d); err == nil {
			t.Errorf("%s was judged", d)
		}
	}
}
