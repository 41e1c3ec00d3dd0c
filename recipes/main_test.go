package recipes

import (
	"testing"

	"locklab/ensembles/labtest"
)

// ensemble is the real ensemble that this package's tests share.
var ensemble labtest.PerPackage

func TestMain(m *testing.M) { ensemble.Main(m) }

// servers returns the addresses of a real ZooKeeper ensemble.
func servers(t testing.TB) []string {
	t.Helper()
	return ensemble.Servers(t)
}
