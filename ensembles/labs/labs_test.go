package labs

import (
	"slices"
	"testing"

	"locklab/ensembles"
)

// A scenario can name each kind of lab, and nothing else but ensembles.LabAuto and ensembles.LabSim.
func TestEveryKindHasAName(t *testing.T) {
	names := []string{ensembles.LabAuto}
	for _, k := range Kinds() {
		names = append(names, k.Name())
	}
	names = append(names, ensembles.LabSim)
	if want := ensembles.LabNames(); !slices.Equal(names, want) {
		t.Errorf("the kinds are called %v, and a scenario calls them %v", names, want)
	}
}
