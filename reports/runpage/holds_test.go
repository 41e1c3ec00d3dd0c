package runpage

import (
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/reports/internal/synth"
)

// The holds of a timeline are also told in words: all of them, in order, with what their bars show.
func TestHoldsInWords(t *testing.T) {
	_, d := figuresOf(Input(synth.Act2Run(false)))
	rows, n := holdsTable(&d.timelines.All[0])
	if n != len(rows.Rows) || n != 9 {
		t.Fatalf("%d rows for %d holds", len(rows.Rows), n)
	}
	var overlapping []string
	for _, r := range rows.Rows {
		if r[4].Text != "–" {
			overlapping = append(overlapping, r[0].Text+" "+r[4].Text)
		}
		if !strings.Contains(r[5].Text, "token ") {
			t.Errorf("%s at %s: %s", r[0].Text, r[1].Text, r[5].Text)
		}
	}
	// c1/1 believes until 3.925 s: with c2/1 for 120 ms, c3/1 for 136, c4/1 for 135, c5/1 for 146, c2/1 again for 70.
	want := "c1/1 607 ms, c2/1 120 ms, c3/1 136 ms, c4/1 135 ms, c5/1 146 ms, c2/1 70 ms"
	if got := strings.Join(overlapping, ", "); got != want {
		t.Errorf("holds at the same time as others: %s; want %s", got, want)
	}
}

// A long table leaves out holds far from what the timeline is about, and says how many.
func TestHoldsInWordsAreBounded(t *testing.T) {
	s := &synth.Synth{}
	s.Phase(0, history.PhaseMeasure)
	for i := range 400 {
		at := 10 + float64(i)*10
		s.Acquire(synth.Acq{Client: "c1/1", N: int64(i + 1), Token: int64(i + 1), Invoke: at, Granted: at + 2,
			Release: at + 5})
	}
	s.Fault("f1", "partition", "zk1", 1992, 3900) // holds 1 to 198 began before it
	s.Phase(5000, history.PhaseDrain)
	_, d := figuresOf(Input(closed(s.Sorted()), evidence.Facts{}))
	rows, n := holdsTable(&d.timelines.All[0])
	if len(rows.Rows) != toldHolds || n <= toldHolds {
		t.Fatalf("%d rows for %d holds, want %d", len(rows.Rows), n, toldHolds)
	}
	if first := rows.Rows[holdsBefore][5].Text; !strings.Contains(first, "acquisition 199,") {
		t.Errorf("after %d rows comes %s, want the first hold of the fault", holdsBefore, first)
	}
	if !strings.Contains(rows.Caption, "holds left out: ") {
		t.Errorf("the caption is %q", rows.Caption)
	}
}
