package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/recipes/broken"
)

// The fixtures of the checks have the history that each broken lock leaves, and the check that the table of broken
// locks names finds it. What only the servers' logs can prove shows in the fixtures in what the clients believed.
func TestChecksFindTheBrokenLocks(t *testing.T) {
	text, err := os.ReadFile("../check/testdata/broken_locks.txt")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for fixture := range strings.SplitSeq(string(text), "\n\n") {
		name, rest, ok := strings.Cut(strings.TrimPrefix(fixture, "# "), "\n")
		command, _, _ := strings.Cut(rest, "\n")
		if verdict := strings.Contains(rest, "\n----\nfail ") && strings.Contains(rest, "\nviolation"); ok && verdict {
			found[name] = strings.Fields(command)[0]
		}
	}
	for _, lock := range broken.Locks {
		name, want := lock.Name, string(lock.Check)
		if lock.Check == broken.Comparison {
			continue // no check finds it
		}
		if want == evidence.ServiceExclusion {
			want = evidence.BeliefExclusion
		}
		if found[name] != want {
			t.Errorf("%s: found by %q, want %q", name, found[name], want)
		}
		delete(found, name)
	}
	if len(found) > 0 {
		t.Errorf("fixtures of no lock: %v", found)
	}
}

// The table of the broken locks has the names of the checks.
func TestBrokenLocksNameChecks(t *testing.T) {
	for theirs, ours := range map[broken.Check]string{
		broken.ServiceExclusion: evidence.ServiceExclusion, broken.BeliefExclusion: evidence.BeliefExclusion,
		broken.Tokens: evidence.Tokens, broken.Liveness: evidence.Liveness,
		broken.ServiceLiveness: evidence.ServiceLiveness,
	} {
		if string(theirs) != ours {
			t.Errorf("%q is %q here", theirs, ours)
		}
	}
}

// The program of the foreign locks is found beside locklab itself, from any directory, unless there is one here.
func TestACommandBesideLocklab(t *testing.T) {
	bug, _ := broken.Find("foreign-early-grant")
	sc := load(t, with("recipe: "+bug.Recipe))
	own, here := t.TempDir(), t.TempDir()
	t.Chdir(here)
	if _, err := findCommand(sc, own); err == nil || !strings.Contains(err.Error(), "make broken-lock") {
		t.Errorf("without the program: %v", err)
	}
	for _, dir := range []string{own, here} { // the one here is found first
		file := filepath.Join(dir, "broken-lock")
		if err := os.WriteFile(file, []byte(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		want := file
		if dir == here {
			want = "broken-lock"
		}
		found, err := findCommand(sc, own)
		if err != nil {
			t.Fatal(err)
		}
		if got := found.files[0].Source; got != want || filepath.Base(found.argv[0]) != "broken-lock" ||
			found.argv[1] != "early-grant" {
			t.Errorf("found %s, argv %v; want %s", got, found.argv, want)
		}
	}
}
