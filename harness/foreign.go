package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
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

// findForeign returns the command of the scenario's recipe; nil if the recipe is ours.
func findForeign(ctx context.Context, sc *scenario.Scenario, binary string) (*foreignLock, error) {
	switch {
	case sc.Command() != nil:
		return findCommand(sc)
	case sc.Foreign():
		return findCurator(ctx, sc, filepath.Dir(binary))
	}
	return nil, nil
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

func findCurator(ctx context.Context, sc *scenario.Scenario, dir string) (*foreignLock, error) {
	jars, err := curator.Jars()
	if err != nil {
		return nil, err
	}
	driver, err := curator.Build(ctx, dir, jars)
	if err != nil {
		return nil, err
	}
	f := &foreignLock{recipe: sc.Recipe, argv: append(append([]string{"java"}, curator.JavaOptions...), curator.Main, sc.Recipe), classes: lockDir + "/*"}
	var names []string
	for _, jar := range append(jars, driver) {
		// What Debian names without a version is a link to what it names with one.
		if real, err := filepath.EvalSymlinks(jar); err == nil {
			jar = real
		}
		names = append(names, filepath.Base(jar))
		f.files = append(f.files, ensembles.File{Source: jar, Target: path.Join(lockDir, filepath.Base(jar))})
	}
	f.version = strings.Join(names, " ")
	return f, nil
}

// equip makes a client's host one that can run the lock.
func (f *foreignLock) equip(h *ensembles.HostSpec, image string) {
	h.Base, h.Image, h.Files = image == "", image, f.files
}
