package harness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/harness/scenario"
	"locklab/recipes/curator"
)

// lockDir is where a host has the command of a foreign lock, and what belongs to it.
const lockDir = "/lock"

// A foreignLock is the command of a recipe that is not ours, as a client's host has it.
type foreignLock struct {
	recipe  string
	argv    []string
	classes string // Java's class path before ZooKeeper's jars; empty = no Java
	files   []ensembles.File
	version string // for env.json
}

// findForeign returns what each client process's host has: nil where its recipe is ours.
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
				byRecipe[r.Name], err = findCommand(sc)
			} else {
				byRecipe[r.Name], err = findCurator(ctx, r.Name, filepath.Dir(binary))
			}
			if err != nil {
				return nil, err
			}
		}
		locks[i] = byRecipe[r.Name]
	}
	return locks, nil
}

// foreignVersion says what the foreign locks are, for env.json.
func foreignVersion(locks []*foreignLock) string {
	var all []string
	for _, f := range locks {
		if f != nil && !slices.Contains(all, f.version) {
			all = append(all, f.version)
		}
	}
	return strings.Join(all, "; ")
}

func findCommand(sc *scenario.Scenario) (*foreignLock, error) {
	argv := sc.Command()
	sum, err := sumOf(argv[0])
	if err != nil {
		return nil, sc.Refuse("recipe", fmt.Sprintf("the lock's command: %v", err), "exec:FILE with a file of this machine, which is copied to the clients' hosts")
	}
	target := path.Join(lockDir, filepath.Base(argv[0]))
	return &foreignLock{recipe: sc.Recipe, argv: append([]string{target}, argv[1:]...),
		files:   []ensembles.File{{Source: argv[0], Target: target, Executable: true}},
		version: filepath.Base(argv[0]) + " sha256:" + sum}, nil
}

// sumOf is the SHA-256 of a regular file.
func sumOf(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no regular file", name)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func findCurator(ctx context.Context, recipe, dir string) (*foreignLock, error) {
	jars, err := curator.Jars()
	if err != nil {
		return nil, err
	}
	driver, err := curator.Build(ctx, dir, jars)
	if err != nil {
		return nil, err
	}
	version, err := curator.Version(jars)
	if err != nil {
		return nil, err
	}
	f := &foreignLock{recipe: recipe, argv: append(append([]string{"java"}, curator.JavaOptions...), curator.Main, recipe), classes: lockDir + "/*"}
	var names []string
	for _, jar := range append(jars, driver) {
		names = append(names, filepath.Base(jar))
		f.files = append(f.files, ensembles.File{Source: jar, Target: path.Join(lockDir, filepath.Base(jar))})
	}
	// The files' names need not have a version: Debian's have none.
	f.version = fmt.Sprintf("Apache Curator %s (%s)", cmp.Or(version, "of unknown version"), strings.Join(names, " "))
	return f, nil
}

// equip makes a client's host one that can run the lock.
func (f *foreignLock) equip(h *ensembles.HostSpec, image string) {
	h.Base, h.Image, h.Files = image == "", image, f.files
}
