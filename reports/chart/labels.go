package chart

import (
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
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

// textHeight is the height of a row of small text.
const textHeight = 11

// fillBoxed writes a text on a white box, so that it is legible over lines. at is the middle of its left side.
func fillBoxed(c *draw.Canvas, style text.Style, at vg.Point, s string) {
	FillRect(c, at.X-1, at.X+style.Width(s)+1, at.Y-textHeight/2+1, at.Y+textHeight/2-1, color.White)
	c.FillText(style, at, s)
}

// PointLabels puts a text beside each point, where it covers no other text and no point. A text that has no such place
// is left out.
type PointLabels struct {
	plotter.XYs
	Texts []string
}

// Plot implements plot.Plotter.
func (l PointLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := TextStyle(SmallSize, Grey)
	var taken []vg.Rectangle
	for _, v := range l.XYs {
		at := vg.Point{X: x(v.X), Y: y(v.Y)}
		taken = append(taken, vg.Rectangle{Min: at.Sub(vg.Point{X: 3, Y: 3}), Max: at.Add(vg.Point{X: 3, Y: 3})})
	}
	for i, v := range l.XYs {
		box, ok := besides(vg.Point{X: x(v.X), Y: y(v.Y)}, style.Width(l.Texts[i]), c.Rectangle, taken)
		if ok {
			taken = append(taken, box)
			fillBoxed(&c, style, vg.Point{X: box.Min.X, Y: (box.Min.Y + box.Max.Y) / 2}, l.Texts[i])
		}
	}
}

// besides returns the first free place within the plot for a text of that width beside a point; false if there is none.
func besides(at vg.Point, width vg.Length, within vg.Rectangle, taken []vg.Rectangle) (vg.Rectangle, bool) {
	const aside = 5
	for _, dy := range []vg.Length{-6, 6, -16, 16, -26, 26} {
		for _, left := range []vg.Length{at.X + aside, at.X - aside - width} {
			box := vg.Rectangle{Min: vg.Point{X: left, Y: at.Y + dy - 5}, Max: vg.Point{X: left + width, Y: at.Y + dy + 5}}
			covers := func(o vg.Rectangle) bool {
				return box.Min.X < o.Max.X && o.Min.X < box.Max.X && box.Min.Y < o.Max.Y && o.Min.Y < box.Max.Y
			}
			inside := box.Min.X >= within.Min.X && box.Max.X <= within.Max.X && box.Min.Y >= within.Min.Y &&
				box.Max.Y <= within.Max.Y
			if inside && !slices.ContainsFunc(taken, covers) {
				return box, true
			}
		}
	}
	return vg.Rectangle{}, false
}
