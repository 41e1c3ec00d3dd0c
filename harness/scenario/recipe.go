package scenario

import (
	"slices"
	"strings"

	"locklab/chaos"
	"locklab/recipes/broken"
	"locklab/workloads"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
)

// Recipes returns the scenario's recipes. They are dealt to the client processes, c1 first. Unknown names are left out.
func (s *Scenario) Recipes() []lock.Recipe {
	if s.Command() != nil {
		return []lock.Recipe{lock.Command(s.Recipe, s.Layout)}
	}
	return lock.FindAll(s.Recipe)
}

// RecipeOf returns the recipe of the i-th client process, from 0.
func (s *Scenario) RecipeOf(i int) lock.Recipe {
	all := s.Recipes()
	return all[i%len(all)]
}

// Mix returns what the scenario's recipes promise and need together: only what each promises, and all that any needs.
func (s *Scenario) Mix() lock.Recipe {
	return lock.Mix(s.Recipe, s.Recipes(), lock.Use{Downgrades: s.DowngradeShare > 0, DeletesNodes: s.deletesNodes()})
}

// deletesNodes reports whether the scenario names a fault that deletes contenders' znodes.
func (s *Scenario) deletesNodes() bool {
	return slices.ContainsFunc(s.Faults, func(f chaos.Fault) bool {
		n := chaos.KindOf(f.Kind).Nature
		return n.DeletesZnodes && !n.DeletesAll
	})
}

// HasTokens reports whether the recipes give out fencing tokens. A recipe that may give them counts as one that does.
func (s *Scenario) HasTokens() bool { return s.Mix().Tokens }

// Command returns the command and arguments of a recipe that is a command, and nil for every other recipe.
func (s *Scenario) Command() []string {
	command, ok := strings.CutPrefix(s.Recipe, lock.ExecPrefix)
	if !ok {
		return nil
	}
	argv, _ := lock.Argv(command)
	return argv
}

// Foreign reports whether a recipe runs in a process of its own beside the client's.
func (s *Scenario) Foreign() bool { return s.Mix().Foreign }

// Protection returns the table entry of the scenario's guard.
func (s *Scenario) Protection() guard.Guard {
	g, _ := guard.Find(s.Guard)
	return g
}

// recipes checks that each recipe serves the workload, and that all of them go together and with the guard.
func (v *validator) recipes() {
	if !v.fits() {
		return
	}
	v.mixed()
	run := guard.Run{Workload: v.Workload, Recipes: v.Recipes(), Mix: v.Mix(), Units: v.Units,
		SessionTimeout: v.Negotiated(), Tick: v.Tick}
	for _, r := range v.Protection().Refusals(run) {
		v.refuse(r.Keys, r.Hint, "%s", r.Reason)
	}
	v.connection()
}

// fits reports whether each recipe serves the workload.
func (v *validator) fits() bool {
	fits := true
	for _, r := range v.Recipes() {
		if !r.Serves(v.Workload) {
			fits = false
			v.refuse(by("recipe", "workload"),
				"one of "+strings.Join(lock.Offered(v.Workload), ", ")+"; or workload: "+r.Workloads[0],
				"recipe %s does not serve workload %s", r.Name, v.Workload)
		}
		if v.DowngradeShare > 0 && v.Workload == workloads.ReadWrite && !r.Downgrade {
			v.refuse(by("downgrade-share", "recipe"), "recipe: rw, or downgrade-share: 0",
				"a writer of recipe %s cannot become a reader", r.Name)
		}
	}
	if fits && v.Workload == workloads.MultiLock && !v.Mix().Several {
		v.refuse(by("recipe", "workload"), "multi or curator-multi, alone or mixed with it",
			"recipe %s takes one lock at a time, and no client takes several", v.Recipe)
	}
	return fits
}

// mixed checks that recipes that share a path see each other.
func (v *validator) mixed() {
	all := v.Recipes()
	if len(all) < 2 {
		return
	}
	first := all[0]
	goesWith := "no other"
	if names := lock.Companions(first, v.Workload); len(names) > 0 {
		goesWith = strings.Join(names, ", ")
	}
	for _, r := range all[1:] {
		if r.Layout == "" || r.Layout != first.Layout {
			v.refuse(by("recipe"), first.Name+" goes with "+goesWith,
				"recipes %s and %s do not share a layout of znodes, so they would not see each other", first.Name, r.Name)
		}
	}
	if v.ClientProcesses < len(all) {
		v.refuse(by("client-processes", "recipe"), "a client process or more for each recipe",
			"%d client processes for %d recipes", v.ClientProcesses, len(all))
	}
}

// connection refuses keys that do not apply to recipes whose clients have a connection each. Such clients cannot share
// a session, and have no say in whether they wait.
func (v *validator) connection() {
	all := v.Recipes()
	i := slices.IndexFunc(all, func(r lock.Recipe) bool { return r.OwnConnection })
	if i < 0 {
		return
	}
	name := all[i].Name
	if v.ClientsPerSession > 1 {
		v.refuse(by("clients-per-session", "recipe"), "drop it", "clients of recipe %s have a connection each", name)
	}
	if v.Try {
		v.refuse(by("try", "recipe"), "wait: 1s", "recipe %s does not say whether it waits", name)
	}
}

// ofEveryBug are the lines that the scenarios of known bugs share, so that most of them can be run in one lab. A bug's
// own line for a key replaces the one here.
const ofEveryBug = `
client-processes: 2
warmup: 200ms
duration: 4s
liveness: 0 # what gets stuck has to do so in the measured window
drain: cancel
session-timeout: 1s
tick: 200ms
storage: tmpfs
`

// bugPrefix begins the names of the scenarios of known bugs.
const bugPrefix = "repro-"

// BugOf returns the known bug that the scenario makes show, and false if it is not the scenario of one.
func BugOf(s *Scenario) (broken.Lock, bool) {
	name, ok := strings.CutPrefix(s.Name, bugPrefix)
	if !ok {
		return broken.Lock{}, false
	}
	return broken.Find(name)
}

// OfBug returns the scenario that makes a known bug show in a lab. The bug must have one.
func OfBug(bug broken.Lock) (*Scenario, error) {
	s, err := ofBug(bug)
	if err != nil {
		return nil, err
	}
	s.Name, s.About = bugPrefix+bug.Name, "Do the checks find this bug? "+bug.Bug
	return s, s.Validate()
}

func ofBug(bug broken.Lock) (*Scenario, error) {
	if bug.Builtin != "" {
		s, err := Builtin(workloads.Builtin, bug.Builtin)
		if err == nil {
			err = s.override("recipe", lock.Of(bug), origin{rank: fromFile})
		}
		return s, err
	}
	lines := strings.Split(strings.TrimSpace(bug.Scenario), "\n")
	for line := range strings.SplitSeq(strings.TrimSpace(ofEveryBug), "\n") {
		key, _, _ := strings.Cut(line, ":")
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+":") }) {
			lines = append(lines, line)
		}
	}
	lines = append(lines, "recipe: "+lock.Of(bug))
	return Load(bugPrefix+bug.Name, []byte(strings.Join(lines, "\n")))
}
