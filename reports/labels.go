package reports

import (
	"cmp"
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

// place puts labels into rows, the first on top, so that no label covers
// another and no line from a label down to the data runs through another's
// text. A label stands to the right of its place, or to the left of it where
// the picture ends. It returns the number of rows, at most limit; labels that fit
// nowhere are left out.
func place(labels []label, style text.Style, lo, hi vg.Length, limit int) (placed []label, rows int) {
	const gap = 4
	type box struct {
		label
		from, to vg.Length
	}
	var todo, done []box
	for _, l := range labels {
		width := style.Width(l.Text) + 2*gap
		b := box{label: l, from: l.X, to: l.X + width}
		if b.to > hi && l.X-width >= lo {
			b.Left, b.from, b.to = true, l.X-width, l.X
		}
		todo = append(todo, b)
	}
	// Those to the right from the left, then those to the left from the right:
	// in this order the next one finds its place below the one before.
	slices.SortStableFunc(todo, func(a, b box) int {
		switch {
		case a.Left != b.Left && a.Left:
			return 1
		case a.Left != b.Left:
			return -1
		case a.Left:
			return cmp.Compare(b.X, a.X)
		}
		return cmp.Compare(a.X, b.X)
	})
	for _, b := range todo {
		for b.Row = 0; b.Row < limit; b.Row++ {
			if !slices.ContainsFunc(done, func(o box) bool {
				switch {
				case o.Row == b.Row:
					return b.from < o.to && o.from < b.to
				case o.Row > b.Row: // my line runs down past it
					return b.X > o.from && b.X < o.to
				}
				return o.X > b.from && o.X < b.to
			}) {
				done = append(done, b)
				placed = append(placed, b.label)
				rows = max(rows, b.Row+1)
				break
			}
		}
	}
	return placed, rows
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
