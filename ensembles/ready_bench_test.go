package ensembles_test

import (
	"fmt"
	"testing"

	"locklab/ensembles"
	"locklab/ensembles/labs"
	"locklab/ensembles/labtest"
)

// BenchmarkReady measures how long it takes to make a lab of three servers until each has committed a write. Which kind
// of lab that is, the tests' variable says: LOCKLAB_TEST_LAB=netns.
func BenchmarkReady(b *testing.B) {
	labtest.Require(b)
	var hosts []ensembles.HostSpec
	for i := range 3 {
		hosts = append(hosts, ensembles.HostSpec{Name: fmt.Sprintf("zk%d", i+1)})
	}
	cfg := ensembles.LabConfig{Hosts: hosts, Binary: labtest.Binary(b), Log: labtest.Log(b)}
	for b.Loop() {
		lab, err := labs.Start(b.Context(), labtest.Kind(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		_, err = ensembles.StartEnsemble(b.Context(), lab, labtest.ServerConfig())
		b.StopTimer()
		if err != nil {
			b.Error(err)
		}
		if err := lab.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}
