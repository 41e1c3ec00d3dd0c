package recipes

import (
	"path"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"locklab/ensembles/labtest/apart"
	"locklab/ensembles/labtest/suite"
	"locklab/recipes/zktest"
)

// ensemble is the real ensemble that this package's tests share.
var ensemble apart.PerPackage

func TestMain(m *testing.M) {
	ensemble.Main(m, func() error { return goleak.Find() }, func() { inMemory().Close() })
}

// real has the tests that asked for the real ensemble, by name.
var real sync.Map

// onRealServers makes servers return the real ensemble to a test and its subtests. It is for what a service in memory
// cannot tell: what servers count, and what they do to each other.
func onRealServers(t *testing.T) {
	t.Helper()
	real.Store(t.Name(), true)
	t.Cleanup(func() { real.Delete(t.Name()) })
}

// servers returns the addresses of a ZooKeeper ensemble: three servers in memory, which answer as real ones do, or the
// real ones, to a test that asked for them and in the nightly suite. TestSameAsARealService, of package zktest,
// licenses that.
func servers(t testing.TB) []string {
	t.Helper()
	asked := suite.All()
	for name := t.Name(); name != "." && !asked; name = path.Dir(name) {
		_, asked = real.Load(name)
	}
	if asked {
		return ensemble.Servers(t)
	}
	return inMemory().Addrs()
}

// inMemory returns the service that this package's tests share.
var inMemory = sync.OnceValue(func() *zktest.Service {
	s := zktest.New(zktest.Config{Servers: 3})
	if err := s.Listen(); err != nil {
		panic(err)
	}
	return s
})
