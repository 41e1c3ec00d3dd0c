package runpage

import (
	"fmt"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/reports/internal/synth"
)

// unfair is a run in which c2 asks after c1 each time and gets the lock before it, except every third time, and c1
// therefore waits longer.
func unfair(rounds int) []history.Event {
	s := &synth.Synth{}
	s.Phase(0, history.PhaseMeasure)
	for i := range rounds {
		at := float64(i)*100 + 10
		n := int64(3 * i)
		s.Acquire(synth.Acq{Client: "c1/1", N: int64(i + 1), Token: n + 3, Invoke: at, Granted: at + 60, Release: at + 70})
		for k := range int64(2) {
			from := at + 5 + 20*float64(k)
			s.Acquire(synth.Acq{Client: "c2/1", N: n + k + 1, Token: n + k + 1, Invoke: from, Granted: from + 5,
				Release: from + 10})
		}
	}
	s.Phase(float64(rounds)*100+10, history.PhaseDrain)
	return s.Sorted()
}

// Where clients were treated differently, the page has a picture of the grants, the waits and the bypasses, and each
// client's bypasses are in the table. Where they took turns, it has none of the three.
func TestFairnessIsDrawnWhereItTells(t *testing.T) {
	for name, c := range map[string]struct {
		events   []history.Event
		pictures []string
		row      []string // of c1/1
	}{
		"unfair": {unfair(20), []string{"grants", "waits", "bypasses"},
			[]string{"c1/1", "20", "200 ms", "60 ms", "60 ms", "2"}},
		// Each waits for the other, and there are too few waits for their medians to tell.
		"in turn": {inTurn(), nil, []string{"c1/1", "3", "30 ms", "20 ms", "20 ms"}},
	} {
		in := Input(closed(c.events), evidence.Facts{})
		figures, d := figuresOf(in)
		var drawn []string
		for _, f := range figures {
			if f.Draw != nil && strings.Contains(" grants waits bypasses ", " "+f.Name+" ") {
				drawn = append(drawn, f.Name)
			}
		}
		if fmt.Sprint(drawn) != fmt.Sprint(c.pictures) {
			t.Errorf("%s: %q are drawn, want %q", name, drawn, c.pictures)
		}
		var row []string
		for _, r := range sharesTable(d.shares).Rows {
			if r[0].Text == "c1/1" {
				for _, cell := range r {
					row = append(row, cell.Text)
				}
			}
		}
		if fmt.Sprint(row) != fmt.Sprint(c.row) {
			t.Errorf("%s: the row is %q, want %q", name, row, c.row)
		}
	}
}

// inTurn is a run of two clients that get the lock in turn.
func inTurn() []history.Event {
	s := &synth.Synth{}
	s.Phase(0, history.PhaseMeasure)
	for i := range 6 {
		at := float64(i)*20 + 30
		s.Acquire(synth.Acq{Client: fmt.Sprintf("c%d/1", i%2+1), N: int64(i/2 + 1), Token: int64(i + 1), Invoke: at - 20,
			Granted: at, Release: at + 10})
	}
	s.Phase(200, history.PhaseDrain)
	return s.Sorted()
}
