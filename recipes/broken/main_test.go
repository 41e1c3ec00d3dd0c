package broken_test

import (
	"testing"

	"locklab/ensembles/labtest"
)

// ensemble is the package's tests' own.
var ensemble labtest.PerPackage

func TestMain(m *testing.M) { ensemble.Main(m) }

// servers returns the addresses of a real ensemble.
func servers(t *testing.T) []string {
	t.Helper()
	return ensemble.Servers(t)
}
