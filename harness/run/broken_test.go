package run

import (
	"os"
	"strings"
	"testing"

	"locklab/harness/check"
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

// The table of the broken locks has the names of the checks.
func TestBrokenLocksNameChecks(t *testing.T) {
	for theirs, ours := range map[broken.Check]string{
		broken.ServiceExclusion: check.ServiceExclusion, broken.BeliefExclusion: check.BeliefExclusion,
		broken.Tokens: check.Tokens, broken.Liveness: check.Liveness,
		broken.ServiceLiveness: check.ServiceLiveness,
	} {
		if string(theirs) != ours {
			t.Errorf("%q is %q here", theirs, ours)
		}
	}
}
