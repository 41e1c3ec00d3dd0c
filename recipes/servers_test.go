package recipes

import (
	"sync"
	"testing"

	"locklab/ensembles/labtest"
)

// ensemble is the package's tests' own, started by the first that asks for it.
var ensemble struct {
	sync.Mutex
	shared *labtest.Shared
}

// servers returns the addresses of a real ZooKeeper ensemble.
func servers(t testing.TB) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs ZooKeeper")
	}
	ensemble.Lock()
	defer ensemble.Unlock()
	if ensemble.shared == nil {
		ensemble.shared = labtest.StartShared(t)
	}
	return ensemble.shared.Servers()
}
