package main

import (
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/labtest/suite"
)

// The example with a database refuses the write of the client that outlived its lock, and counts it.
func TestSQLiteExample(t *testing.T) {
	suite.Nightly(t, "compiles SQLite, which takes minutes; TestPageAfterDamage has what reports say of it")
	out := command(t, filepath.Join(root(t), "recipes/examples/sqlite"), []string{"GOWORK=off"}, "go", "run", ".")
	if !strings.HasSuffix(out, "its write is refused\nbalance 10, refused writes 1\n") {
		t.Errorf("%s", out)
	}
}
