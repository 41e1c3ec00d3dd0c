package runpage

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/reports/doc"
	"locklab/reports/measure"
	"locklab/reports/timeline"
	"locklab/reports/words"
)

const (
	toldHolds   = 40 // rows of the table of one timeline
	holdsBefore = 10 // rows before what a timeline is about, if there are too many
)

// holdsSection has the holds of the timelines as tables, for readers who do not see the pictures or have no script.
func holdsSection(all []timeline.Timeline) section {
	s := section{ID: "holds", Title: "Holds in words"}
	var listed, n int
	for i := range all {
		if t := &all[i]; t.Overview == nil {
			rows, held := holdsTable(t)
			s.table(rows)
			listed, n = listed+len(rows.Rows), n+held
		}
	}
	if n == 0 {
		s.Brief = "none"
		s.note("No timeline has a hold in it.")
		return s
	}
	s.Brief = words.Count(int64(n), "hold")
	if listed < n {
		s.Brief = fmt.Sprintf("%d of %s", listed, words.Count(int64(n), "hold"))
	}
	return s
}

// A heldBy is a hold in a client's row.
type heldBy struct {
	*timeline.Hold
	lane *timeline.Lane
}

// holdsTable has the holds of a timeline in the order in which they began, and says how many there are. If there are
// too many, it leaves out the earliest and the latest.
func holdsTable(t *timeline.Timeline) (rows *doc.Table, n int) {
	var all []heldBy
	for i := range t.Lanes {
		l := &t.Lanes[i]
		for _, held := range [][]timeline.Hold{l.Holds, l.Reads} {
			for k := range held {
				if held[k].Overlaps(t.Span) {
					all = append(all, heldBy{&held[k], l})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b heldBy) int { return cmp.Compare(a.From, b.From) })
	first, _ := slices.BinarySearchFunc(all, t.Anchor(), func(h heldBy, at int64) int { return cmp.Compare(h.From, at) })
	first = max(0, min(first-holdsBefore, len(all)-toldHolds))
	shown := all[first:min(first+toldHolds, len(all))]
	caption := t.Title
	if left := len(all) - len(shown); left > 0 {
		caption += fmt.Sprintf(" (%s left out: %d before, %d after these)", words.Count(int64(left), "hold"), first,
			left-first)
	}
	rows = doc.NewTable(caption, "client", "#from", "#to", "#lasted", "#while another believed", "what is known of it")
	for _, h := range shown {
		var both int64
		for _, s := range timeline.Common(h.lane.Double, []measure.Span{h.Span}) {
			both += s.To - s.From
		}
		other := "–"
		if both > 0 {
			other = words.Duration(both)
		}
		rows.Add(h.lane.Client, words.Instant(h.From), words.Instant(h.To), words.Duration(h.To-h.From), other, h.Details())
	}
	return rows, len(all)
}
