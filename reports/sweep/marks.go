package sweep

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
)

// A trace is a series in a plot: a line, or glyphs at its points, or both.
type trace struct {
	plotter.XYs
	Color  color.NRGBA
	Line   line
	Shape  draw.GlyphDrawer // of the points; nil = they are not marked
	Ranges [][2]float64     // lowest and highest of the runs, by point; nil = not known
}

// A line says how the points of a trace are joined.
type line int

const (
	solid line = iota
	dashed
	noLine
)

// Plot implements plot.Plotter.
func (t trace) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var at []vg.Point
	for _, v := range t.XYs {
		at = append(at, vg.Point{X: x(v.X), Y: y(v.Y)})
	}
	if t.Line != noLine {
		c.StrokeLines(t.style(), c.ClipLinesXY(at)...)
	}
	for i, r := range t.Ranges {
		if r[1] > r[0] {
			c.StrokeLine2(draw.LineStyle{Color: chart.Tint(t.Color, 0.6), Width: 3}, at[i].X, y(r[0]), at[i].X, y(r[1]))
		}
	}
	for _, point := range at {
		if t.Shape != nil && c.Contains(point) {
			c.DrawGlyph(t.glyph(), point)
		}
	}
}

func (t trace) style() draw.LineStyle {
	if t.Line == dashed {
		return draw.LineStyle{Color: t.Color, Width: 1.1, Dashes: []vg.Length{4, 3}}
	}
	return draw.LineStyle{Color: t.Color, Width: 1.4}
}

func (t trace) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: t.Color, Radius: 3, Shape: t.Shape}
}

// Thumbnail implements plot.Thumbnailer.
func (t trace) Thumbnail(c *draw.Canvas) {
	if t.Line != noLine {
		c.StrokeLine2(t.style(), c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
	}
	if t.Shape != nil {
		c.DrawGlyph(t.glyph(), c.Center())
	}
}

// shapes distinguish series when there are more of them than colours.
var shapes = [...]draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}}

// seriesTrace is an empty trace with the colour and the shape of the i-th series.
func seriesTrace(i int) trace {
	return trace{Color: chart.Owners[i%len(chart.Owners)], Shape: shapes[i/len(chart.Owners)%len(shapes)]}
}

// modelTrace is an empty trace of what the model of the i-th series predicts.
func modelTrace(i int) trace { return trace{Color: seriesTrace(i).Color, Line: dashed} }

// A rule is a dotted line across a plot at one value. A vertical one has a text beside it.
type rule struct {
	At       float64
	Vertical bool
	Color    color.NRGBA
	Text     string
	// Row is the text's row, counted from the top, or from the bottom if Bottom is set.
	Row    int
	Bottom bool
}

func (r rule) style() draw.LineStyle {
	return draw.LineStyle{Color: r.Color, Width: 1, Dashes: []vg.Length{1, 2}}
}

// Plot implements plot.Plotter.
func (r rule) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	if !r.Vertical {
		if at := y(r.At); c.ContainsY(at) {
			c.StrokeLine2(r.style(), c.Min.X, at, c.Max.X, at)
		}
		return
	}
	at := x(r.At)
	if !c.ContainsX(at) {
		return
	}
	c.StrokeLine2(r.style(), at, c.Min.Y, at, c.Max.Y)
	const rowHeight = 11
	text := chart.TextStyle(chart.SmallSize, r.Color)
	width := text.Width(r.Text)
	from := vg.Point{X: at + 3, Y: c.Max.Y - 6 - rowHeight*vg.Length(r.Row)}
	if from.X+width > c.Max.X {
		from.X = at - 3 - width
	}
	if r.Bottom {
		from.Y = c.Min.Y + 6 + rowHeight*vg.Length(r.Row)
	}
	// The text lies on a white box, so that it is legible over the lines of others.
	chart.FillRect(&c, from.X-1, from.X+width+1, from.Y-5, from.Y+5, color.White)
	c.FillText(text, from, r.Text)
}

// Thumbnail implements plot.Thumbnailer.
func (r rule) Thumbnail(c *draw.Canvas) {
	c.StrokeLine2(r.style(), c.Center().X, c.Min.Y-2, c.Center().X, c.Max.Y+2)
}

// pointLabels puts a text beside each of some points, where it covers no other text and, if possible, no point. A
// text that has no such place is left out.
type pointLabels struct {
	plotter.XYs
	Texts []string
	Color color.NRGBA
	// Unlabelled are further points that texts should not cover.
	Unlabelled plotter.XYs
}

// Add puts a text beside a point.
func (l *pointLabels) Add(at plotter.XY, text string) {
	l.XYs, l.Texts = append(l.XYs, at), append(l.Texts, text)
}

// Plot implements plot.Plotter.
func (l pointLabels) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := chart.TextStyle(chart.SmallSize, l.Color)
	halo := style // lines may run beneath a text
	halo.Color = color.White
	var points, texts []vg.Rectangle
	for _, v := range slices.Concat(l.XYs, l.Unlabelled) {
		points = append(points, rectangle(x(v.X)-3, x(v.X)+3, y(v.Y)-3, y(v.Y)+3))
	}
	for i, v := range l.XYs {
		box, ok := roomBeside(vg.Point{X: x(v.X), Y: y(v.Y)}, style.Width(l.Texts[i]), c.Rectangle, texts, points)
		if !ok {
			continue
		}
		texts = append(texts, box)
		at := vg.Point{X: box.Min.X, Y: (box.Min.Y + box.Max.Y) / 2}
		for _, d := range []vg.Point{{X: -1}, {X: 1}, {Y: -1}, {Y: 1}} {
			c.FillText(halo, at.Add(d), l.Texts[i])
		}
		c.FillText(style, at, l.Texts[i])
	}
}

// roomBeside returns where a text of that width goes beside a point: the first place within the plot that covers
// neither texts nor points, or else no texts. False if there is none.
func roomBeside(at vg.Point, width vg.Length, within vg.Rectangle, texts, points []vg.Rectangle) (vg.Rectangle, bool) {
	const half, aside = 5, 5
	for _, avoid := range [][]vg.Rectangle{slices.Concat(texts, points), texts} {
		for _, dy := range []vg.Length{-6, 6, -16, 16, -26, 26} {
			for _, left := range []vg.Length{at.X + aside, at.X - aside - width} {
				box := rectangle(left, left+width, at.Y+dy-half, at.Y+dy+half)
				if box.Min.X < within.Min.X || box.Max.X > within.Max.X || box.Min.Y < within.Min.Y || box.Max.Y > within.Max.Y {
					continue
				}
				covers := func(o vg.Rectangle) bool {
					return box.Min.X < o.Max.X && o.Min.X < box.Max.X && box.Min.Y < o.Max.Y && o.Min.Y < box.Max.Y
				}
				if !slices.ContainsFunc(avoid, covers) {
					return box, true
				}
			}
		}
	}
	return vg.Rectangle{}, false
}

func rectangle(x0, x1, y0, y1 vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: x0, Y: y0}, Max: vg.Point{X: x1, Y: y1}}
}

// agreement is the line on which x and y agree, in the band of gaps that are not reported.
type agreement struct{}

// Plot implements plot.Plotter.
func (agreement) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	lo, hi := p.X.Min, p.X.Max
	line := func(share float64) (a, b vg.Point) {
		return vg.Point{X: x(lo), Y: y(lo * share)}, vg.Point{X: x(hi), Y: y(hi * share)}
	}
	a, b := line(1 - gapLimit)
	d, e := line(1 + gapLimit)
	c.FillPolygon(color.NRGBA{0xee, 0xf3, 0xf8, 0xff}, c.ClipPolygonXY([]vg.Point{a, b, e, d}))
	a, b = line(1)
	c.StrokeLines(draw.LineStyle{Color: chart.Grey, Width: 0.8}, c.ClipLinesXY([]vg.Point{a, b})...)
}
