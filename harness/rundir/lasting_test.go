package rundir

import (
	"errors"
	"os"
	"strings"
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

// Only one process at a time works in the directory of a plan.
func TestOccupyPlan(t *testing.T) {
	dir := t.TempDir()
	release, err := OccupyPlan(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = OccupyPlan(dir)
	if !errors.Is(err, ErrDirInUse) || !strings.Contains(err.Error(), "another process works in") {
		t.Errorf("a second one is refused with %v", err)
	}
	release()
	release, err = OccupyPlan(dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
}
