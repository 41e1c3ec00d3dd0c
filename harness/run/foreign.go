package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/process"
	"locklab/ensembles/software"
	"locklab/harness/scenario"
	"locklab/harness/untrusted"
	"locklab/recipes/curator"
	"locklab/workloads/lock"
)

// lockDir is the directory of a host that has the command of a foreign lock and its files.
const lockDir = "/lock"

// A foreignLock is the command of a recipe that is not built into locklab, as a client's host has it.
type foreignLock struct {
	recipe  string
	argv    []string
	classes string // the class path before ZooKeeper's jars; empty = the command is not a Java class
	files   []ensembles.File
	version string // for env.json
}

// An equipment has the foreign locks of client processes, by recipe and then by process; nil where the recipe of a
// process is built into locklab.
type equipment map[string][]*foreignLock

// equipmentFor finds the foreign locks of scenarios, of which some may be nil.
func equipmentFor(ctx context.Context, binary string, all ...*scenario.Scenario) (equipment, error) {
	e := equipment{}
	for _, sc := range all {
		if sc == nil {
			continue
		}
		locks, err := findForeign(ctx, sc, binary)
		if err != nil {
			return nil, err
		}
		e[sc.Recipe] = locks
	}
	return e, nil
}

// of returns the foreign lock that the i-th process of a recipe runs; nil if there is none.
func (e equipment) of(recipe string, i int) *foreignLock {
	if locks := e[recipe]; i < len(locks) {
		return locks[i]
	}
	return nil
}

// equip gives the i-th client's host what it needs to run the locks.
func (e equipment) equip(h *ensembles.HostSpec, i int, image string) {
	for _, recipe := range slices.Sorted(maps.Keys(e)) {
		lock := e.of(recipe, i)
		if lock == nil {
			continue
		}
		h.Base, h.Image = image == "", image
		for _, file := range lock.files {
			if !slices.Contains(h.Files, file) {
				h.Files = append(h.Files, file)
			}
		}
	}
}

// findForeign returns the foreign lock of each client process; nil where the recipe is built into locklab.
func findForeign(ctx context.Context, sc *scenario.Scenario, binary string) ([]*foreignLock, error) {
	byRecipe := map[string]*foreignLock{}
	locks := make([]*foreignLock, sc.ClientProcesses)
	for i := range locks {
		r := sc.RecipeOf(i)
		if !r.Foreign {
			continue
		}
		if byRecipe[r.Name] == nil {
			var err error
			if sc.Command() != nil {
				byRecipe[r.Name], err = findCommand(sc, filepath.Dir(binary))
			} else {
				byRecipe[r.Name], err = findCurator(ctx, r, filepath.Dir(binary))
			}
			if err == nil && byRecipe[r.Name].classes != "" && sc.Connect != "" && sc.Lab != ensembles.LabKubernetes {
				err = javaHere()
			}
			if err != nil {
				return nil, err
			}
		}
		locks[i] = byRecipe[r.Name]
	}
	return locks, nil
}

// javaHere makes sure that client processes of this machine find Java and ZooKeeper's jars.
func javaHere() error {
	_, err := software.Find(os.DirFS("/"), os.Getenv("JAVA_HOME"), os.Getenv("ZOOKEEPER_HOME"))
	if err != nil {
		err = fmt.Errorf("%w: %w", process.ErrUnavailable, err)
	}
	return err
}

// foreignVersion describes the foreign locks for env.json.
func foreignVersion(locks []*foreignLock) string {
	var all []string
	for _, f := range locks {
		if f != nil && !slices.Contains(all, f.version) {
			all = append(all, f.version)
		}
	}
	return strings.Join(all, "; ")
}

// findCommand returns the lock of a scenario that names a command of this machine. A name without a directory may be
// that of a file in dir, which has locklab itself.
func findCommand(sc *scenario.Scenario, dir string) (*foreignLock, error) {
	argv := sc.Command()
	if beside := filepath.Join(dir, argv[0]); filepath.Base(argv[0]) == argv[0] && !exists(argv[0]) && exists(beside) {
		argv[0] = beside
	}
	sum, err := untrusted.Digest(argv[0])
	if err != nil {
		return nil, sc.Refuse("recipe", fmt.Sprintf("the lock's command: %v", err),
			"exec:FILE with a file of this machine, which is copied to the clients' hosts; make broken-lock builds those of "+
				"the known bugs")
	}
	target := path.Join(lockDir, sum, filepath.Base(argv[0])) // of another build, it may have the same name
	return &foreignLock{recipe: sc.Recipe, argv: append([]string{target}, argv[1:]...),
		files:   []ensembles.File{{Source: argv[0], Target: target, Executable: true}},
		version: filepath.Base(argv[0]) + " sha256:" + sum}, nil
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// findCurator returns one of Curator's locks, whose driver is in a directory of this machine or is built there.
func findCurator(ctx context.Context, r lock.Recipe, dir string) (*foreignLock, error) {
	jars, err := curator.Compiled(ctx, r.Version, dir)
	if err != nil {
		return nil, err
	}
	version, err := curator.Version(jars)
	if err != nil {
		return nil, err
	}
	at := path.Join(lockDir, "curator"+r.Version) // two sides of a comparison may have a version each
	f := &foreignLock{recipe: r.Name, classes: at + "/*",
		argv: slices.Concat([]string{"java"}, curator.JavaOptions, []string{curator.Main, r.Unversioned()})}
	var names []string
	for _, jar := range jars {
		names = append(names, filepath.Base(jar))
		f.files = append(f.files, ensembles.File{Source: jar, Target: path.Join(at, filepath.Base(jar))})
	}
	// The names of the files need not have a version, and Debian's have none.
	f.version = fmt.Sprintf("Apache Curator %s (%s)", cmp.Or(version, "of unknown version"), strings.Join(names, " "))
	return f, nil
}
