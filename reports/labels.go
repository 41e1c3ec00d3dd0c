package reports

import (
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A label is a word at a place on a time axis.
type label struct {
	X    vg.Length
	Text string
	// Left is set by place if the text had to go to the left of X.
	Left bool
	Row  int
}

// place puts labels into rows so that none covers another: each goes into the
// first row where it fits, to the right of its place, or to the left of it
// where the picture ends. It returns the number of rows, at most limit; those
// that fit nowhere are left out.
func place(labels []label, style text.Style, lo, hi vg.Length, limit int) (placed []label, rows int) {
	type extent struct{ from, to vg.Length }
	var taken [][]extent
	slices.SortStableFunc(labels, func(a, b label) int {
		switch {
		case a.X < b.X:
			return -1
		case a.X > b.X:
			return 1
		}
		return 0
	})
	const gap = 4
	for _, l := range labels {
		width := style.Width(l.Text) + gap
		from, to := l.X, l.X+width
		if to > hi && l.X-width >= lo {
			l.Left, from, to = true, l.X-width, l.X
		}
		for row := 0; row < limit; row++ {
			if row == len(taken) {
				taken = append(taken, nil)
			}
			if slices.ContainsFunc(taken[row], func(e extent) bool { return from < e.to+gap && e.from < to+gap }) {
				continue
			}
			taken[row] = append(taken[row], extent{from, to})
			l.Row = row
			placed = append(placed, l)
			break
		}
	}
	return placed, len(taken)
}

// write draws a placed label with its text in the middle of y.
func (l label) write(c *draw.Canvas, style text.Style, y vg.Length) {
	const gap = 3
	if l.Left {
		style.XAlign = draw.XRight
		c.FillText(style, vg.Point{X: l.X - gap, Y: y}, l.Text)
		return
	}
	c.FillText(style, vg.Point{X: l.X + gap, Y: y}, l.Text)
}
