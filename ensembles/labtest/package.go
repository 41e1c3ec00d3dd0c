package labtest

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"locklab/ensembles"
)

// A PerPackage is the [Shared] that all tests of a package use. The first test that asks for it starts it. Its zero
// value is ready to use; a package keeps one in a variable and calls [PerPackage.Main] in TestMain.
type PerPackage struct {
	mu     sync.Mutex
	shared *Shared
}

// Servers returns the addresses of a real ensemble. With -short the test is skipped.
func (p *PerPackage) Servers(t testing.TB) []string {
	t.Helper()
	return p.get(t).Servers()
}

// Ensemble returns the ensemble itself, which has its servers' agents.
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

// Main runs the tests, then whatever else must end, and ends the process. It removes the ensemble before it looks for
// leaked goroutines, because the lab's leases run some.
func (p *PerPackage) Main(m *testing.M, others ...func()) {
	code := m.Run()
	for _, end := range others {
		end()
	}
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
