package reports

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The axes and marks of a sweep's pictures.

// spreads reports whether values want a logarithmic axis.
func spreads(lo, hi float64) bool { return lo > 0 && hi/lo >= 8 }

// loadAxis makes x an axis of the load, with the measured loads as its ticks.
func (s *Sweep) loadAxis(p *plot.Plot, width vg.Length) {
	var at []float64
	for _, series := range s.Series {
		for _, point := range series.Points {
			if !slices.Contains(at, point.Load) {
				at = append(at, point.Load)
			}
		}
	}
	slices.Sort(at)
	lo, hi := at[0], at[len(at)-1]
	isLog := spreads(lo, hi)
	share := func(v float64) float64 { return (v - lo) / max(hi-lo, 1e-12) }
	switch {
	case isLog:
		p.X.Scale = plot.LogScale{}
		share = func(v float64) float64 { return math.Log(v/lo) / math.Log(hi/lo) }
		room := math.Pow(hi/lo, 0.04)
		p.X.Min, p.X.Max = lo/room, hi*room
	case hi > lo:
		p.X.Min, p.X.Max = lo-0.04*(hi-lo), hi+0.04*(hi-lo)
	default:
		p.X.Min, p.X.Max = lo-1, lo+1
	}
	// A label every so often: those that would run into the one before go without.
	var ticks plot.ConstantTicks
	style := textStyle(textSize, black)
	end := vg.Length(math.Inf(-1))
	for _, v := range at {
		t := plot.Tick{Value: v}
		label := s.label(v)
		half := style.Width(label) / 2
		if x := vg.Length(share(v)) * width; x-half > end {
			t.Label, end = label, x+half+5
		}
		ticks = append(ticks, t)
	}
	p.X.Tick.Marker = ticks
	p.X.Label.Text = s.Load
}

// newPanel is one plot of a grid of panels, with its title above it.
func newPanel(title string) *plot.Plot {
	p := newChart("", "", "").Plot
	p.Title.Text = title
	p.Title.TextStyle.Font = sans(textSize)
	p.Title.Padding = 3
	return p
}

// panels is a picture of several plots whose axes are aligned, below one title and one legend.
type panels struct {
	title string
	keys  []key
	rows  [][]*plot.Plot // of equal length; nil = no panel
}

// Draw draws all of it.
func (ps panels) Draw(c draw.Canvas) {
	fillRect(&c, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y, color.White)
	c = draw.Crop(c, margin, -2*margin, margin, -margin)
	c.FillText(bold(textStyle(titleSize, black)), vg.Point{X: c.Min.X, Y: c.Max.Y - titleRow/2}, ps.title)
	drawKeys(draw.Crop(c, 0, 0, 0, -titleRow), ps.keys)
	c = draw.Crop(c, 0, 0, 0, -titleRow-legendRow*vg.Length(countRows(ps.keys))-margin)
	tiles := draw.Tiles{Rows: len(ps.rows), Cols: len(ps.rows[0]), PadX: 10, PadY: 8}
	for i, row := range plot.Align(ps.rows, tiles, c) {
		for k, at := range row {
			if p := ps.rows[i][k]; p != nil {
				p.Draw(at)
			}
		}
	}
}

// A trace is a series in a plot: its points, joined, and how far their runs are apart.
type trace struct {
	plotter.XYs
	Color  color.NRGBA
	Shape  draw.GlyphDrawer
	Ranges [][2]float64 // lowest and highest of the runs, by point; nil = unknown
	Dashed bool         // a line without points
}

// Plot implements plot.Plotter.
func (t trace) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	var line []vg.Point
	for _, at := range t.XYs {
		line = append(line, vg.Point{X: x(at.X), Y: y(at.Y)})
	}
	c.StrokeLines(t.style(), c.ClipLinesXY(line)...)
	if t.Dashed {
		return
	}
	for i, r := range t.Ranges {
		if r[1] > r[0] {
			c.StrokeLine2(draw.LineStyle{Color: tint(t.Color, 0.6), Width: 3}, line[i].X, y(r[0]), line[i].X, y(r[1]))
		}
	}
	for _, at := range line {
		if c.Contains(at) {
			c.DrawGlyph(draw.GlyphStyle{Color: t.Color, Radius: 3, Shape: t.Shape}, at)
		}
	}
}

func (t trace) style() draw.LineStyle {
	if t.Dashed {
		return draw.LineStyle{Color: t.Color, Width: 1.1, Dashes: []vg.Length{4, 3}}
	}
	return draw.LineStyle{Color: t.Color, Width: 1.4}
}

// Thumbnail implements plot.Thumbnailer.
func (t trace) Thumbnail(c *draw.Canvas) {
	c.StrokeLine2(t.style(), c.Min.X, c.Center().Y, c.Max.X, c.Center().Y)
	if !t.Dashed {
		c.DrawGlyph(draw.GlyphStyle{Color: t.Color, Radius: 3, Shape: t.Shape}, c.Center())
	}
}

// shapes tell series apart where there are more of them than colours.
var shapes = [...]draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}}

// look gives the i-th series its colour and shape.
func look(i int) (color.NRGBA, draw.GlyphDrawer) {
	return owners[i%len(owners)], shapes[i/len(owners)%len(shapes)]
}

// A rule is a line across a plot at one value; a vertical one has a word beside it.
type rule struct {
	At       float64
	Vertical bool
	Text     string
	Color    color.NRGBA
	// Low is how many lines of text below the top, of a vertical one, or above the bottom.
	Low    int
	Bottom bool
}

// Plot implements plot.Plotter.
func (r rule) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: r.Color, Width: 1, Dashes: []vg.Length{1, 2}}
	if !r.Vertical {
		if at := y(r.At); c.ContainsY(at) {
			c.StrokeLine2(style, c.Min.X, at, c.Max.X, at)
		}
		return
	}
	at := x(r.At)
	if !c.ContainsX(at) {
		return
	}
	c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
	words := textStyle(smallSize, r.Color)
	w := words.Width(r.Text)
	from := vg.Point{X: at + 3, Y: c.Max.Y - 6 - 11*vg.Length(r.Low)}
	if from.X+w > c.Max.X {
		from.X = at - 3 - w
	}
	if r.Bottom {
		from.Y = c.Min.Y + 6 + 11*vg.Length(r.Low)
	}
	// Over the lines of others, and legible all the same.
	fillRect(&c, from.X-1, from.X+w+1, from.Y-5, from.Y+5, color.White)
	c.FillText(words, from, r.Text)
}

// Thumbnail implements plot.Thumbnailer.
func (r rule) Thumbnail(c *draw.Canvas) {
	c.StrokeLine2(draw.LineStyle{Color: r.Color, Width: 1, Dashes: []vg.Length{1, 2}}, c.Center().X, c.Min.Y-2, c.Center().X, c.Max.Y+2)
}

// words puts a text beside each of some points, where it covers neither another nor a point if there is such a place; a text
// that has no place without covering another is left out.
type words struct {
	plotter.XYs
	Texts []string
	Color color.NRGBA
	// Among are points that have no text.
	Among plotter.XYs
}

// add puts a text beside a point.
func (w *words) add(at plotter.XY, text string) {
	w.XYs, w.Texts = append(w.XYs, at), append(w.Texts, text)
}

// Plot implements plot.Plotter.
func (w words) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := textStyle(smallSize, w.Color)
	var points, taken []vg.Rectangle
	for _, at := range slices.Concat(w.XYs, w.Among) {
		const half = 3
		at := vg.Point{X: x(at.X), Y: y(at.Y)}
		points = append(points, vg.Rectangle{Min: vg.Point{X: at.X - half, Y: at.Y - half}, Max: vg.Point{X: at.X + half, Y: at.Y + half}})
	}
	for i, at := range w.XYs {
		box, ok := roomFor(vg.Point{X: x(at.X), Y: y(at.Y)}, style.Width(w.Texts[i]), c.Rectangle, taken, points)
		if !ok {
			continue
		}
		taken = append(taken, box)
		at := vg.Point{X: box.Min.X, Y: (box.Min.Y + box.Max.Y) / 2}
		halo := style
		halo.Color = color.White // lines may run beneath it
		for _, d := range []vg.Point{{X: -1}, {X: 1}, {Y: -1}, {Y: 1}} {
			c.FillText(halo, at.Add(d), w.Texts[i])
		}
		c.FillText(style, at, w.Texts[i])
	}
}

// roomFor returns where a text of that width goes beside a point: the first place that lies within and covers none of the
// taken ones, if possible no point either.
func roomFor(at vg.Point, width vg.Length, within vg.Rectangle, taken, points []vg.Rectangle) (best vg.Rectangle, ok bool) {
	const half, aside = 5, 5
	for _, dy := range []vg.Length{-6, 6, -16, 16, -26, 26} {
		for _, left := range []vg.Length{at.X + aside, at.X - aside - width} {
			box := vg.Rectangle{Min: vg.Point{X: left, Y: at.Y + dy - half}, Max: vg.Point{X: left + width, Y: at.Y + dy + half}}
			covers := func(o vg.Rectangle) bool {
				return box.Min.X < o.Max.X && o.Min.X < box.Max.X && box.Min.Y < o.Max.Y && o.Min.Y < box.Max.Y
			}
			outside := box.Min.X < within.Min.X || box.Max.X > within.Max.X || box.Min.Y < within.Min.Y || box.Max.Y > within.Max.Y
			switch {
			case outside || slices.ContainsFunc(taken, covers):
			case !slices.ContainsFunc(points, covers):
				return box, true
			case !ok:
				best, ok = box, true
			}
		}
	}
	return best, ok
}
