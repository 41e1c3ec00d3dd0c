package rundir

import (
	"os"
	"testing"
)

// A run lasts for as long as its directory is occupied, however often somebody asks.
func TestOccupy(t *testing.T) {
	dir := t.TempDir()
	lasts := func() bool {
		d, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		return Lasts(d)
	}
	if lasts() {
		t.Error("a run lasts that nobody carries out")
	}
	release := Occupy(dir)
	for range 2 { // a look takes nothing away
		if !lasts() {
			t.Error("a run that is carried out does not last")
		}
	}
	release()
	if lasts() {
		t.Error("a run still lasts that has ended")
	}
}
