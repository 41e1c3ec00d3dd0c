package judge

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
)

var (
	corrupted     = flag.Int("corrupted", 60, "how many run directories TestCorruptedDirectories corrupts")
	corruptedSeed = flag.Uint64("corrupted-seed", 1, "the seed of what it corrupts")
)

// corruptions are what can happen to a file, besides what [damages] does.
var corruptions = map[string]func(*rand.Rand, []byte) []byte{
	"bits flipped": func(r *rand.Rand, b []byte) []byte {
		for range 1 + r.IntN(8) {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
		return b
	},
	"bytes replaced": func(r *rand.Rand, b []byte) []byte {
		for i := r.IntN(len(b)); i < len(b) && r.IntN(32) > 0; i++ {
			b[i] = byte(r.Uint32())
		}
		return b
	},
	"bytes inserted": func(r *rand.Rand, b []byte) []byte {
		more := make([]byte, 1+r.IntN(64))
		for i := range more {
			more[i] = byte(r.Uint32())
		}
		return slices.Insert(b, r.IntN(len(b)+1), more...)
	},
	"bytes removed": func(r *rand.Rand, b []byte) []byte {
		from := r.IntN(len(b))
		return slices.Delete(b, from, min(len(b), from+1+r.IntN(64)))
	},
	"a part repeated": func(r *rand.Rand, b []byte) []byte {
		from := r.IntN(len(b))
		return slices.Insert(b, from, slices.Clone(b[from:min(len(b), from+1+r.IntN(256))])...)
	},
	"zeros": func(r *rand.Rand, b []byte) []byte { clear(b[r.IntN(len(b)):]); return b },
}

// sameEvents reports whether two raw histories differ at most in the padding of their frames and in zeros behind them.
func sameEvents(a, b []byte) bool {
	was, _, err := history.Decode(nil, a, map[string]string{})
	if err != nil {
		return false
	}
	is, rest, err := history.Decode(nil, b, map[string]string{})
	return err == nil && len(bytes.Trim(rest, "\x00")) == 0 && slices.Equal(was, is)
}

// Whatever is corrupted in the directory of a sound run, judging it does not panic and finds no violation. If a raw
// file has other content than when the run ended, nothing passes.
func TestCorruptedDirectories(t *testing.T) {
	dir := madeRun{id: "a-1", section: "counter"}.make(t)
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(*corruptedSeed, 5))
	came := map[string]int{}
	for range *corrupted {
		whole := map[string][]byte{}
		var done []string
		recorded := false // a raw file has other content
		for range 1 + r.IntN(3) {
			path := files[r.IntN(len(files))]
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) == 0 || whole[path] != nil {
				continue
			}
			whole[path] = b
			how := slices.Sorted(maps.Keys(corruptions))[r.IntN(len(corruptions))]
			now := corruptions[how](r, slices.Clone(b))
			if err := os.WriteFile(path, now, 0o644); err != nil {
				t.Fatal(err)
			}
			raw := filepath.Base(path) != rundir.ResultFile
			recorded = recorded || raw && !bytes.Equal(b, now) && !sameEvents(b, now)
			done = append(done, fmt.Sprintf("%s in %s", how, strings.TrimPrefix(path, dir)))
		}
		what := strings.Join(done, ", ")
		out, err := Judge(dir)
		switch {
		case err != nil:
			came["refused"]++
		case out.Result.Verdict == evidence.Fail:
			t.Errorf("%s: %s", what, out.Result.Headline)
		case recorded && out.Result.Verdict == evidence.Pass:
			t.Errorf("%s: it passes", what)
		default:
			came[string(out.Result.Verdict)]++
		}
		for _, w := range out.Report.Warnings {
			if strings.Contains(w, "broke") {
				t.Errorf("%s: %s", what, w)
			}
		}
		for path, b := range whole {
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("%d directories, seed %d: %v", *corrupted, *corruptedSeed, came)
}
