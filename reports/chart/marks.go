package chart

import (
	"cmp"
	"image/color"
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Dots draws points as small squares of one path, and no two on the same spot.
type Dots struct {
	plotter.XYs
	Color color.Color
	Size  vg.Length
}

// Plot implements plot.Plotter.
func (d Dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	spots := map[[2]int]struct{}{}
	for _, at := range d.XYs {
		px, py := x(at.X), y(at.Y)
		if c.ContainsX(px) && c.ContainsY(py) {
			spots[[2]int{int(px / d.grain()), int(py / d.grain())}] = struct{}{}
		}
	}
	var path vg.Path
	for _, s := range slices.SortedFunc(maps.Keys(spots),
		func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		square(&path, vg.Point{X: vg.Length(s[0]) * d.grain(), Y: vg.Length(s[1]) * d.grain()}, d.Size)
	}
	if len(path) > 0 {
		c.SetColor(d.Color)
		c.Fill(path)
	}
}

// grain is how finely dots are placed: to half a dot, or to whole dots if there are many.
func (d Dots) grain() vg.Length {
	if d.Size < 2 {
		return d.Size
	}
	return d.Size / 2
}

// Thumbnail implements plot.Thumbnailer.
func (d Dots) Thumbnail(c *draw.Canvas) {
	var path vg.Path
	square(&path, c.Center(), max(d.Size, 3))
	c.SetColor(d.Color)
	c.Fill(path)
}

func square(path *vg.Path, at vg.Point, size vg.Length) {
	h := size / 2
	path.Move(vg.Point{X: at.X - h, Y: at.Y - h})
	path.Line(vg.Point{X: at.X + h, Y: at.Y - h})
	path.Line(vg.Point{X: at.X + h, Y: at.Y + h})
	path.Line(vg.Point{X: at.X - h, Y: at.Y + h})
	path.Close()
}

// Crosses draws points as crosses.
type Crosses struct {
	plotter.XYs
	Color color.Color
}

// Plot implements plot.Plotter.
func (d Crosses) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	spots := map[[2]int]struct{}{}
	for _, at := range d.XYs {
		pt := vg.Point{X: x(at.X), Y: y(at.Y)}
		key := [2]int{int(pt.X * 2), int(pt.Y * 2)}
		if _, drawn := spots[key]; !drawn && c.Contains(pt) {
			Cross(&c, pt, 2.5, 1.1, d.Color)
		}
		spots[key] = struct{}{}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (d Crosses) Thumbnail(c *draw.Canvas) { Cross(c, c.Center(), 2.5, 1.1, d.Color) }

// A CrossGlyph draws a glyph as [Cross] does.
type CrossGlyph struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (CrossGlyph) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	Cross(c, at, 2.5, 1.1, style.Color)
}

// Cross draws a cross.
func Cross(c *draw.Canvas, at vg.Point, r, width vg.Length, clr color.Color) {
	style := draw.LineStyle{Color: clr, Width: width}
	c.StrokeLine2(style, at.X-r, at.Y-r, at.X+r, at.Y+r)
	c.StrokeLine2(style, at.X-r, at.Y+r, at.X+r, at.Y-r)
}

// FillRect fills a rectangle.
func FillRect(c *draw.Canvas, x0, x1, y0, y1 vg.Length, clr color.Color) {
	c.SetColor(clr)
	if in, ok := c.Canvas.(*Inline); ok {
		in.rect(x0, x1, y0, y1, "", "fill-opacity")
		return
	}
	var p vg.Path
	p.Move(vg.Point{X: x0, Y: y0})
	p.Line(vg.Point{X: x1, Y: y0})
	p.Line(vg.Point{X: x1, Y: y1})
	p.Line(vg.Point{X: x0, Y: y1})
	p.Close()
	c.Fill(p)
}

// OutlineRect draws the outline of a rectangle.
func OutlineRect(c *draw.Canvas, x0, x1, y0, y1 vg.Length, clr color.Color) {
	if in, ok := c.Canvas.(*Inline); ok {
		in.SetColor(clr)
		in.rect(x0, x1, y0, y1, "s", "stroke-opacity")
		return
	}
	c.StrokeLines(draw.LineStyle{Color: clr, Width: 0.7},
		[]vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}, {X: x0, Y: y0}})
}

// HatchRect draws diagonal lines over a rectangle. On a page they are a pattern of the page, see [PagePatterns].
func HatchRect(c *draw.Canvas, x0, x1, y0, y1 vg.Length) {
	if in, ok := c.Canvas.(*Inline); ok {
		in.SetColor(Black)
		in.rect(x0, x1, y0, y1, "hatch", "fill-opacity")
		return
	}
	style := draw.LineStyle{Color: Black, Width: 0.5}
	const step = 5
	h := y1 - y0
	for x := x0 - h + step; x < x1; x += step {
		a, b := vg.Point{X: x, Y: y0}, vg.Point{X: x + h, Y: y1}
		if a.X < x0 {
			a = vg.Point{X: x0, Y: y0 + x0 - x}
		}
		if b.X > x1 {
			b = vg.Point{X: x1, Y: y0 + x1 - x}
		}
		c.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
	}
	OutlineRect(c, x0, x1, y0, y1, Black)
}
