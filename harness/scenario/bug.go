package scenario

import (
	"slices"
	"strings"

	"locklab/recipes/broken"
	"locklab/workloads"
	"locklab/workloads/lock"
)

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
