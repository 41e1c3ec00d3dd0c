package lock

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"locklab/recipes/curator"
	"locklab/workloads"
)

// These are the names of recipes that the code mentions.
const (
	Mutex      = "mutex"       // Curator's queue: one watch, on the predecessor
	NaiveMutex = "naive-mutex" // one znode that every client watches
	None       = "none"        // no lock at all: what the checks must find
	// ExecPrefix begins a recipe that is a command: any lock behind the lock protocol.
	ExecPrefix = "exec:"
	// ControlPrefix begins the names of the controls, which are the locks of recipes/broken with their names there.
	// Each has one known bug. If a check finds nothing wrong with them, it has not looked, or the bug was not
	// triggered.
	ControlPrefix = "broken-"
)

// table has every recipe but commands. The first that serves a workload is that workload's default.
var table = withControls([]Recipe{
	mutex,
	readWrite,
	semaphore,
	multi,
	leader,
	naiveMutex,
	fairReadWrite,
	naiveReadWrite,
	semaphoreMutex,
	none,
	zkLock,
	curatorMutex,
	curatorReadWrite,
	curatorSemaphore,
	curatorSemaphoreMutex,
	curatorMulti,
})

// All returns every recipe but commands.
func All() []Recipe { return slices.Clone(table) }

// Find returns the recipe of that name, which is that of one version of Curator if it ends as curator-mutex@5.7.1 does.
// All that is known of a command is that it should be exclusive.
func Find(name string) (Recipe, bool) {
	if strings.HasPrefix(name, ExecPrefix) {
		return Command(name, ""), true
	}
	plain, version, versioned := strings.Cut(name, versionMark)
	i := slices.IndexFunc(table, func(r Recipe) bool { return r.Name == plain })
	if i < 0 {
		return Recipe{}, false
	}
	r := table[i]
	if versioned {
		r.Name, r.Version, r.LeakyDowngrade = name, version, r.LeakyDowngrade && curator.LeaksDowngrades(version)
	}
	return r, !versioned || slices.Contains(r.Versions(), name)
}

// FindAll returns the recipes whose names a mix lists. It leaves out names that no recipe has.
func FindAll(text string) (all []Recipe) {
	for _, name := range Split(text) {
		if r, ok := Find(name); ok {
			all = append(all, r)
		}
	}
	return all
}

// Split splits the names of a mix of recipes. A command may contain commas, and cannot be mixed.
func Split(text string) []string {
	if strings.HasPrefix(text, ExecPrefix) {
		return []string{text}
	}
	names := strings.Split(text, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// ArgPattern is what each word of a command matches, as a whole. Quotes around spaces would not be heeded.
const ArgPattern = `[^\s"']([^\s"']|"[^\s"]*"|'[^\s']*')*`

// Argv splits a command at its spaces.
func Argv(command string) ([]string, error) {
	argv := strings.Fields(command)
	for _, word := range argv {
		if !whole.MatchString(word) {
			return nil, fmt.Errorf("the argument %s has a quote, and arguments end at every space", word)
		}
	}
	return argv, nil
}

var whole = regexp.MustCompile("^" + ArgPattern + "$")

// IsControl reports whether a recipe's name is a control's.
func IsControl(name string) bool { return strings.HasPrefix(name, ControlPrefix) }

// Names returns the names of all recipes except commands.
func Names() []string { return names(table) }

// Closest returns the names that an unknown name may have been meant as.
func Closest(name string) []string {
	plain, _, _ := strings.Cut(name, versionMark)
	if r, ok := Find(plain); ok && len(r.Versions()) > 0 {
		return r.Versions()
	}
	return slices.DeleteFunc(Names(), func(n string) bool { return IsControl(n) != IsControl(name) })
}

// Serving returns the names of the recipes that serve a workload.
func Serving(workload string) []string {
	return names(slices.DeleteFunc(All(), func(r Recipe) bool { return !r.Serves(workload) }))
}

// Offered returns the names of the recipes to recommend for a workload.
func Offered(workload string) []string { return slices.DeleteFunc(Serving(workload), IsControl) }

// Companions returns the names of the recipes that one can be mixed with in a workload.
func Companions(r Recipe, workload string) []string {
	return names(slices.DeleteFunc(All(), func(o Recipe) bool {
		return o.Control || o.Name == r.Name || o.Layout == "" || o.Layout != r.Layout || !o.Serves(workload)
	}))
}

// Default returns the recipe of a workload if the user gives none.
func Default(workload string) string {
	all := Serving(workload)
	if len(all) == 0 {
		return Mutex // the workload will be refused
	}
	for _, name := range all {
		// A mutex takes one lock of a multi-lock at a time, which is useful only in a mix.
		if r, _ := Find(name); workload != workloads.MultiLock || r.Several {
			return name
		}
	}
	return all[0]
}

func names(all []Recipe) []string {
	var names []string
	for _, r := range all {
		names = append(names, r.Name)
	}
	return names
}
