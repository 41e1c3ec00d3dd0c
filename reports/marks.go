package reports

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

// dotSize is smaller for more of them.
func dotSize(n int) vg.Length {
	switch {
	case n < 500:
		return 3
	case n < 5000:
		return 2
	}
	return 1.5
}

// dotStrength is paler for more of them, so that lines stand out.
func dotStrength(n int) float64 {
	if n < 5000 {
		return 0.75
	}
	return 0.45
}

// dots draws points as small squares of one path, and no two on the same spot:
// a run of a million acquires must still be a picture that a browser opens.
type dots struct {
	plotter.XYs
	Color color.Color
	Size  vg.Length
}

// Plot implements plot.Plotter.
func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	spots := map[[2]int]struct{}{}
	for _, at := range d.XYs {
		px, py := x(at.X), y(at.Y)
		if c.ContainsX(px) && c.ContainsY(py) {
			spots[[2]int{int(px / d.grain()), int(py / d.grain())}] = struct{}{}
		}
	}
	var path vg.Path
	for _, s := range slices.SortedFunc(maps.Keys(spots), func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		square(&path, vg.Point{X: vg.Length(s[0]) * d.grain(), Y: vg.Length(s[1]) * d.grain()}, d.Size)
	}
	if len(path) > 0 {
		c.SetColor(d.Color)
		c.Fill(path)
	}
}

// grain is how finely dots are placed: half a dot, or whole ones of many.
func (d dots) grain() vg.Length {
	if d.Size < 2 {
		return d.Size
	}
	return d.Size / 2
}

// Thumbnail implements plot.Thumbnailer.
func (d dots) Thumbnail(c *draw.Canvas) {
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

// crosses draws points as crosses.
type crosses struct {
	plotter.XYs
	Color color.Color
}

// Plot implements plot.Plotter.
func (d crosses) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	spots := map[[2]int]struct{}{}
	for _, at := range d.XYs {
		pt := vg.Point{X: x(at.X), Y: y(at.Y)}
		key := [2]int{int(pt.X * 2), int(pt.Y * 2)}
		if _, drawn := spots[key]; !drawn && c.Contains(pt) {
			cross(&c, pt, 2.5, 1.1, d.Color)
		}
		spots[key] = struct{}{}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (d crosses) Thumbnail(c *draw.Canvas) { cross(c, c.Center(), 2.5, 1.1, d.Color) }

func cross(c *draw.Canvas, at vg.Point, r, width vg.Length, clr color.Color) {
	style := draw.LineStyle{Color: clr, Width: width}
	c.StrokeLine2(style, at.X-r, at.Y-r, at.X+r, at.Y+r)
	c.StrokeLine2(style, at.X-r, at.Y+r, at.X+r, at.Y-r)
}
