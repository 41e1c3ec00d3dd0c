package harness

import (
	"maps"
	"os"
	"strings"
	"testing"

	"locklab/harness/check"
	"locklab/recipes/broken"
)

// The checkers' fixtures have what each broken lock leaves in a history, and find it by the
// check that the table of those locks names. What only the servers' logs can prove is found there in
// what the clients believed.
func TestChecksFindTheBrokenLocks(t *testing.T) {
	text, err := os.ReadFile("check/testdata/broken_locks.txt")
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
	for name, lock := range broken.Locks {
		want := string(lock.Check)
		if want == check.ServiceExclusion {
			want = check.BeliefExclusion
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

// The table of the broken locks calls the checks by their names.
func TestBrokenLocksNameChecks(t *testing.T) {
	for theirs, ours := range map[broken.Check]string{broken.ServiceExclusion: check.ServiceExclusion, broken.BeliefExclusion: check.BeliefExclusion,
		broken.Tokens: check.Tokens, broken.Liveness: check.Liveness} {
		if string(theirs) != ours {
			t.Errorf("%q is %q here", theirs, ours)
		}
	}
}

// lockChecks are the locks that a check is to find.
func lockChecks(name string) map[string]broken.Lock {
	all := maps.Clone(broken.Locks)
	maps.DeleteFunc(all, func(_ string, l broken.Lock) bool { return string(l.Check) != name })
	return all
}
