package scenario_test

import (
	"testing"

	"locklab/harness/scenario"
)

// The recipe follows the workload, until something at least as strong says otherwise.
func TestRecipeFollowsWorkload(t *testing.T) {
	for _, tt := range []struct {
		name, src string
		set       [][2]string
		want      string
	}{
		{"by default", "", nil, "mutex"},
		{"read-write", "workload: read-write", nil, "rw"},
		{"semaphore", "workload: semaphore", nil, "semaphore"},
		{"multi-lock", "workload: multi-lock\nlocks: 2", nil, "multi"},
		{"given", "workload: read-write\nrecipe: fair-rw", nil, "fair-rw"},
		{"given before", "recipe: fair-rw\nworkload: read-write", nil, "fair-rw"},
		{"a flag's workload", "recipe: mutex", [][2]string{{"workload", "read-write"}}, "rw"},
		{"a flag's workload that the file's recipe serves", "workload: read-write\nrecipe: naive-rw", [][2]string{{"workload", "mutex"}}, "naive-rw"},
		{"two flags", "", [][2]string{{"recipe", "curator-rw"}, {"workload", "read-write"}}, "curator-rw"},
	} {
		s := mustLoad(t, tt.src)
		for _, kv := range tt.set {
			if err := s.Set(kv[0], kv[1]); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Validate(); err != nil || s.Recipe != tt.want {
			t.Errorf("%s: recipe %s, %v; want %s", tt.name, s.Recipe, err, tt.want)
		}
	}
}

// A mix promises what the weakest of its recipes does.
func TestMix(t *testing.T) {
	s := mustLoad(t, "workload: semaphore\nrecipe: semaphore, curator-semaphore\nclient-processes: 3")
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	if m := s.Mix(); m.Tokens || m.Slots || m.Queue || !m.Exclusive || !m.Foreign {
		t.Errorf("a semaphore of ours and Curator's promises %+v", m)
	}
	for i, want := range []string{"semaphore", "curator-semaphore", "semaphore"} {
		if r := s.RecipeOf(i); r.Name != want {
			t.Errorf("process %d runs %s, want %s", i+1, r.Name, want)
		}
	}
	if got := s.Expected(scenario.CheckFairness); got != scenario.ExpectAny {
		t.Errorf("fairness of the mix is to come out as %s, want any", got)
	}
	// What is known to leak is not promised, so that it is a finding and no riddle.
	s = mustLoad(t, "workload: read-write\nrecipe: rw,curator-rw")
	if !s.Mix().Exclusive {
		t.Error("read/write locks that nobody downgrades promise no exclusion")
	}
	s.DowngradeShare = 0.5
	if s.Mix().Exclusive {
		t.Error("Curator's downgrade is taken for a sound one")
	}
	s = mustLoad(t, "recipe: mutex,zk-lock\nclients: 4\nclient-processes: 2")
	if !s.Mix().Exclusive {
		t.Error("zk.Lock, whose znodes nobody deletes, promises no exclusion")
	}
	s.Faults = []scenario.Fault{{Kind: scenario.FaultDeleteNode, Target: scenario.TargetWaiter}}
	if s.Mix().Exclusive {
		t.Error("zk.Lock is taken to notice that its znode is deleted")
	}
}

// Each pair of recipes that the table lets mix shares a workload and a layout, and
// every workload has a recipe of ours to begin with.
func TestRecipeTable(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range scenario.AllRecipes() {
		if seen[r.Name] || len(r.Workloads) == 0 {
			t.Errorf("%s: twice, or of no use", r.Name)
		}
		seen[r.Name] = true
	}
	for _, w := range []string{"mutex", "read-write", "semaphore", "multi-lock"} {
		s := mustLoad(t, "locks: 4\nworkload: "+w)
		if r := s.RecipeOf(0); r.Foreign || !r.Serves(w) || !r.Exclusive {
			t.Errorf("workload %s begins with %s", w, r.Name)
		}
	}
}
