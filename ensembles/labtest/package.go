package labtest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"locklab/ensembles"
)

// A PerPackage is the one [Shared] of a package's tests, started by the first that asks for it. The zero
// value is ready; it is kept in a variable of the package, whose TestMain is [PerPackage.Main].
type PerPackage struct {
	mu     sync.Mutex
	shared *Shared
}

// Servers returns the addresses of a real ensemble. With -short the test is skipped.
func (p *PerPackage) Servers(t testing.TB) []string {
	t.Helper()
	return p.get(t).Servers()
}

// Ensemble returns that ensemble itself, and with it its servers' agents.
func (p *PerPackage) Ensemble(t testing.TB) *ensembles.Ensemble {
	t.Helper()
	return p.get(t).Ensemble
}

func (p *PerPackage) get(t testing.TB) *Shared {
	t.Helper()
	if testing.Short() {
		t.Skip("needs ZooKeeper")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shared == nil {
		p.shared = StartShared(t)
	}
	return p.shared
}

// Main runs the tests and ends the process. It takes the ensemble down before it looks for
// goroutines left behind: the lab's leases have some.
func (p *PerPackage) Main(m *testing.M) {
	code := m.Run()
	err := p.shared.Close()
	if err == nil {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
