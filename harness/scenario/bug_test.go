package scenario

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"locklab/harness/check"
	"locklab/recipes/broken"
	"locklab/workloads/lock"
)

// Every known bug has a recipe and a scenario that can be run, and names a check, kinds of its findings and the fault
// that explains them if one has to.
func TestKnownBugs(t *testing.T) {
	kinds, err := filepath.Glob("../check/evidence/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source []byte
	for _, name := range append(kinds, "../history/look.go") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, b...)
	}
	names := map[string]bool{}
	for _, bug := range broken.Known() {
		if names[bug.Name] {
			t.Errorf("%s: the table has it twice", bug.Name)
		}
		names[bug.Name] = true
		if bug.Check == broken.Comparison { // no run makes it show
			if bug.Scenario != "" || bug.Kinds != nil {
				t.Errorf("%s: %+v", bug.Name, bug)
			}
			continue
		}
		s, err := OfBug(bug)
		if err != nil {
			t.Errorf("%s: %v", bug.Name, err)
			continue
		}
		if want := cmp.Or(bug.Recipe, lock.ControlPrefix+bug.Name); s.Recipe != want {
			t.Errorf("%s: recipe %s, want %s", bug.Name, s.Recipe, want)
		}
		if c, ok := check.Named(string(bug.Check)); !ok || c.OfRun {
			t.Errorf("%s: no such check of a lock: %s", bug.Name, bug.Check)
		}
		if len(bug.Kinds) == 0 {
			t.Errorf("%s: no kind of finding", bug.Name)
		}
		for _, kind := range bug.Kinds {
			if !bytes.Contains(source, []byte(`"`+kind+`"`)) {
				t.Errorf("%s: no check has findings of kind %s", bug.Name, kind)
			}
		}
		if bug.Builtin != "" && bug.Scenario != "" {
			t.Errorf("%s has two scenarios", bug.Name)
		}
		if f := s.Faults; bug.Cause != "" && (len(f) == 0 || f[0].Kind != bug.Cause) {
			t.Errorf("%s: explained by %s, and its faults are %v", bug.Name, bug.Cause, f)
		}
	}
	for _, bug := range slices.Concat(broken.Others, broken.Foreign) {
		r, ok := lock.Find(bug.Recipe)
		if !ok || r.Control || bug.New != nil || bug.Decorate != nil || bug.Sound != "" || bug.Bug == "" ||
			bug.Source == "" || bug.Trigger == "" || bug.Finding == "" {
			t.Errorf("%s: %+v", bug.Name, bug)
		}
	}
}
