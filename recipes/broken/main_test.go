package broken_test

import (
	"testing"

	"locklab/ensembles/labtest"
)

// ensemble is the real ensemble that this package's tests share.
var ensemble labtest.PerPackage

func TestMain(m *testing.M) { ensemble.Main(m) }

// servers returns the addresses of a real ensemble.
func servers(t *testing.T) []string {
	t.Helper()
	return ensemble.Servers(t)
}
