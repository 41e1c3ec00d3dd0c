package chart

import (
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Trace is a series in a plot: a line, marks at its points, or both.
type Trace struct {
	plotter.XYs
	Color  color.NRGBA
	Dashes []vg.Length // of the line; nil = it is solid
	NoLine bool
	Shape  draw.GlyphDrawer // of the marks; nil = there are none
	Ranges [][2]float64     // the ends of a vertical bar at each point; nil = there are none
}

// shapes distinguish series when there are more of them than colours.
var shapes = [...]draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}}

// SeriesTrace is an empty trace with the colour and the shape of the i-th series.
func SeriesTrace(i int) Trace {
	return Trace{Color: Owners[i%len(Owners)], Shape: shapes[i/len(Owners)%len(shapes)]}
}

// Dash patterns.
var (
	Dashed = []vg.Length{4, 3}
	Dotted = []vg.Length{1, 2}
)

// Plot implements plot.Plotter.
func (t Trace) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var at []vg.Point
	for _, v := range t.XYs {
		at = append(at, vg.Point{X: x(v.X), Y: y(v.Y)})
	}
	if !t.NoLine {
		c.StrokeLines(t.style(), c.ClipLinesXY(at)...)
	}
	for i, r := range t.Ranges {
		if r[1] > r[0] {
			c.StrokeLine2(draw.LineStyle{Color: Tint(t.Color, 0.6), Width: 3}, at[i].X, y(r[0]), at[i].X, y(r[1]))
		}
	}
	for _, point := range at {
		if t.Shape != nil && c.Contains(point) {
			c.DrawGlyph(t.glyph(), point)
		}
	}
}

// DataRange implements plot.DataRanger.
func (t Trace) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmin, xmax, ymin, ymax = plotter.XYRange(t.XYs)
	for _, r := range t.Ranges {
		ymin, ymax = min(ymin, r[0]), max(ymax, r[1])
	}
	return xmin, xmax, ymin, ymax
}

// Thumbnail implements plot.Thumbnailer.
func (t Trace) Thumbnail(c *draw.Canvas) {
	if !t.NoLine {
		c.StrokeLine2(t.style(), c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
	}
	if t.Shape != nil {
		c.DrawGlyph(t.glyph(), c.Center())
	}
}

func (t Trace) style() draw.LineStyle {
	return draw.LineStyle{Color: t.Color, Width: 1.3, Dashes: t.Dashes}
}

func (t Trace) glyph() draw.GlyphStyle {
	return draw.GlyphStyle{Color: t.Color, Radius: 3, Shape: t.Shape}
}

// A Rule is a dotted vertical line across a plot, with a text beside it.
type Rule struct {
	At    float64
	Color color.NRGBA
	Text  string
	// Row is the row of the text, counted from the top, or from the bottom if Bottom is set.
	Row    int
	Bottom bool
}

// Plot implements plot.Plotter.
func (r Rule) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	at := x(r.At)
	if !c.ContainsX(at) {
		return
	}
	c.StrokeLine2(r.style(), at, c.Min.Y, at, c.Max.Y)
	style := TextStyle(SmallSize, r.Color)
	from := vg.Point{X: at + 3, Y: c.Max.Y - 6 - textHeight*vg.Length(r.Row)}
	if width := style.Width(r.Text); from.X+width > c.Max.X {
		from.X = at - 3 - width
	}
	if r.Bottom {
		from.Y = c.Min.Y + 6 + textHeight*vg.Length(r.Row)
	}
	fillBoxed(&c, style, from, r.Text)
}

// Thumbnail implements plot.Thumbnailer.
func (r Rule) Thumbnail(c *draw.Canvas) {
	c.StrokeLine2(r.style(), c.Center().X, c.Min.Y-2, c.Center().X, c.Max.Y+2)
}

func (r Rule) style() draw.LineStyle { return draw.LineStyle{Color: r.Color, Width: 1, Dashes: Dotted} }
