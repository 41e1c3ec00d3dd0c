package chart

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Label is a word at a place on a time axis.
type Label struct {
	X    vg.Length
	Text string
	// Left is set by Place if the text had to go to the left of X.
	Left bool
	Row  int
}

// Place puts labels into rows, the first row on top, so that no label covers another and no line from a label down to
// the data crosses another's text. A label is to the right of its place, or to the left of it near the end of the
// picture. Place returns the number of rows, at most limit. Labels that fit nowhere are left out.
func Place(labels []Label, style text.Style, lo, hi vg.Length, limit int) (placed []Label, rows int) {
	const gap = 4
	var right, left []labelBox
	for _, l := range labels {
		width := style.Width(l.Text) + 2*gap
		b := labelBox{Label: l, from: l.X, to: l.X + width}
		if b.to > hi && l.X-width >= lo {
			b.Left, b.from, b.to = true, l.X-width, l.X
			left = append(left, b)
			continue
		}
		right = append(right, b)
	}
	// Labels to the right are placed from left to right, and those to the left from right to left, so that each one
	// can go below the one before. Which side should come first depends on the labels, so both orders are tried.
	slices.SortStableFunc(right, func(a, b labelBox) int { return cmp.Compare(a.X, b.X) })
	slices.SortStableFunc(left, func(a, b labelBox) int { return cmp.Compare(b.X, a.X) })
	placed, rows = stack(slices.Concat(right, left), limit)
	if other, r := stack(slices.Concat(left, right), limit); len(other) > len(placed) || len(other) == len(placed) &&
		r < rows {
		placed, rows = other, r
	}
	return placed, rows
}

// A labelBox is a label and the space that its text takes.
type labelBox struct {
	Label
	from, to vg.Length
}

// stack puts each label into the first row where it disturbs none before it.
func stack(todo []labelBox, limit int) (placed []Label, rows int) {
	var done []labelBox
	for _, b := range todo {
		for b.Row = 0; b.Row < limit; b.Row++ {
			if slices.ContainsFunc(done, b.disturbs) {
				continue
			}
			done = append(done, b)
			placed = append(placed, b.Label)
			rows = max(rows, b.Row+1)
			break
		}
	}
	return placed, rows
}

// disturbs reports whether two labels overlap, or the text of one and the line of the other.
func (b labelBox) disturbs(o labelBox) bool {
	switch {
	case o.Row == b.Row:
		return b.from < o.to && o.from < b.to
	case o.Row > b.Row: // b's line runs down past o's text
		return b.X > o.from && b.X < o.to
	}
	return o.X > b.from && o.X < b.to
}

// Write draws a placed label with its text in the middle of y.
func (l Label) Write(c *draw.Canvas, style text.Style, y vg.Length) {
	const gap = 3
	if l.Left {
		style.XAlign = draw.XRight
		c.FillText(style, vg.Point{X: l.X - gap, Y: y}, l.Text)
		return
	}
	c.FillText(style, vg.Point{X: l.X + gap, Y: y}, l.Text)
}
