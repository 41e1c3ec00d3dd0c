package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"locklab/harness/scenario"
)

// asked finds the names of variables that code reads or names in a constant, and those that the Makefile sets.
var asked = regexp.MustCompile(`(?m)(?:nv\(|= *)"(LOCKLAB_[A-Z_]+)"|^\t(LOCKLAB_[A-Z_]+)=`)

// No variable that this repository itself uses is refused.
func TestOtherVariablesAreKnown(t *testing.T) {
	names := map[string]bool{}
	err := filepath.WalkDir("../../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && strings.HasPrefix(d.Name(), ".") && d.Name() != ".." {
			return err
		}
		if filepath.Ext(path) != ".go" && d.Name() != "Makefile" {
			return nil
		}
		b, err := os.ReadFile(path)
		for _, m := range asked.FindAllSubmatch(b, -1) {
			names[string(m[1])+string(m[2])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"LOCKLAB_ZOOKEEPER_IMAGE", "LOCKLAB_DEBIAN_MIRROR", "LOCKLAB_SOAK",
		"LOCKLAB_TEST_ALL", "LOCKLAB_SEED"} {
		if !names[want] {
			t.Errorf("%s is not found any more, or nobody goes by it", want)
		}
	}
	for name := range names {
		if err := scenario.CheckEnv([]string{name + "=x"}, otherVariables); err != nil {
			t.Error(err)
		}
	}
}
