package harness

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A size is how many files and lines a package has, tests not counted.
type size struct{ files, lines int }

func (s size) within(bound size) bool { return s.files <= bound.files && s.lines <= bound.lines }

// A package fits into a head: it has at most 27 files and 4,000 lines. Those that are larger do not grow, and leave
// this list when they are small enough. The locks and the faults stay: they have a file for each lock and each kind.
func TestPackagesAreSmall(t *testing.T) {
	most := size{27, 4000}
	larger := map[string]size{
		"recipes":        {33, 6000},
		"chaos":          {50, 6650},
		"recipes/zktest": {27, 4200},
	}
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		has := size{files: len(p.GoFiles)}
		for _, f := range p.GoFiles {
			b, err := os.ReadFile(filepath.Join(p.Dir, f))
			if err != nil {
				t.Fatal(err)
			}
			has.lines += bytes.Count(b, []byte("\n"))
		}
		bound, listed := larger[name]
		switch {
		case listed && has.within(most):
			t.Errorf("%s is small enough now: take it off the list", name)
		case listed && !has.within(bound), !listed && !has.within(most):
			t.Errorf("%s has %d files and %d lines", name, has.files, has.lines)
		}
	}
}
