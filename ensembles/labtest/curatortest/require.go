package curatortest

import (
	"testing"

	"locklab/ensembles/labtest/suite"
	"locklab/recipes/curator"
)

// Require returns the jars of a version of Curator, or of any if it is empty. If they or the Java compiler are missing,
// it skips the test, or fails it if they are required.
func Require(t testing.TB, version string) []string {
	t.Helper()
	jars, err := curator.Jars(version)
	if err != nil {
		suite.Missing(t, "Curator", "curator", err)
	}
	suite.Tool(t, "javac", "curator")
	return jars
}
