package chart

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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
