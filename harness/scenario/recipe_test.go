package scenario_test

import (
	"slices"
	"testing"

	"locklab/chaos"
	"locklab/harness/check/evidence"
	"locklab/harness/scenario"
	"locklab/workloads"
	"locklab/workloads/guard"
)

// A scenario gets its workload's default recipe unless a source that is at least as strong names another.
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
		{"a flag's workload that the file's recipe serves", "workload: read-write\nrecipe: naive-rw",
			[][2]string{{"workload", "mutex"}}, "naive-rw"},
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

// A mix promises only what each of its recipes promises.
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
	if got := s.Expected(evidence.Fairness); got != scenario.ExpectAny {
		t.Errorf("fairness of the mix is to come out as %s, want any", got)
	}
	// Exclusion is not promised where a recipe is known to leak, so that the report names the cause of an overlap.
	s = mustLoad(t, "workload: read-write\nrecipe: rw,curator-rw")
	if !s.Mix().Exclusive {
		t.Error("read/write locks without downgrades do not promise exclusion")
	}
	s.DowngradeShare = 0.5
	if s.Mix().Exclusive {
		t.Error("with Curator's downgrade, which leaks, exclusion is promised")
	}
	s = mustLoad(t, "recipe: mutex,zk-lock\nclients: 4\nclient-processes: 2")
	if !s.Mix().Exclusive {
		t.Error("zk.Lock does not promise exclusion although no fault deletes its znodes")
	}
	s.Faults = []chaos.Fault{{Kind: "delete-node", Target: chaos.TargetWaiter}}
	if s.Mix().Exclusive {
		t.Error("zk.Lock promises exclusion although it does not notice that its znode is deleted")
	}
}

// The default recipe of every workload is one of ours, and excludes.
func TestDefaultRecipes(t *testing.T) {
	for _, w := range workloads.All {
		s := mustLoad(t, "locks: 4\nworkload: "+w)
		if r := s.RecipeOf(0); r.Foreign || !r.Serves(w) || !r.Exclusive {
			t.Errorf("the default recipe of workload %s is %s", w, r.Name)
		}
	}
}

// The keys workload and guard offer exactly the workloads and the guards of their tables.
func TestChoicesAreTheTables(t *testing.T) {
	want := map[string][]string{"workload": workloads.All, "guard": guard.Names()}
	for _, k := range scenario.Keys() {
		if all, ok := want[k.Name]; ok && !slices.Equal(k.Values, all) {
			t.Errorf("%s offers %v, and its table has %v", k.Name, k.Values, all)
		}
		delete(want, k.Name)
	}
	if len(want) > 0 {
		t.Errorf("no keys for %v", want)
	}
}
