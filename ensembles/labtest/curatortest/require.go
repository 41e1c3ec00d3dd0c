package curatortest

import (
	"fmt"
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/recipes/curator"
)

// Require returns Curator's jars. If the jars or the Java compiler are missing, it skips the test, or fails it if
// they are required.
func Require(t testing.TB) []string {
	t.Helper()
	jars, err := curator.Jars()
	if err != nil {
		suite.Missing(t, "Curator", "curator", err)
	}
	suite.Tool(t, "javac", "curator")
	return jars
}

// LeaksDowngrades reports whether the jars contain a Curator before 5.5, which lets a waiting writer in beside a
// writer that has become a reader (CURATOR-621).
func LeaksDowngrades(t testing.TB, jars []string) bool {
	t.Helper()
	version, err := curator.Version(jars)
	if err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil {
		t.Fatalf("the version of Curator, %q: %v", version, err)
	}
	return major < 5 || major == 5 && minor < 5
}
