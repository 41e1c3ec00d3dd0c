package reports

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"image/color"
)

// bands is a plotter that shades the faults' times, names them, and marks
// where phases begin. The x axis is seconds of the run.
type bands struct {
	Faults []faultSpan
	Phases []phaseMark
}

// The names of phases and faults stand above the data.
const (
	bandRow  = 12
	bandRows = 3
)

// Plot implements plot.Plotter.
func (b bands) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	inside := func(v vg.Length) vg.Length { return min(max(v, c.Min.X), c.Max.X) }
	style := textStyle(smallSize, grey)
	var labels []label
	for _, f := range b.Faults {
		from, to := inside(x(seconds(f.From))), inside(x(seconds(f.To)))
		if to <= c.Min.X || from >= c.Max.X {
			continue
		}
		fillRect(&c, from, max(to, from+1), c.Min.Y, c.Max.Y, shade)
		labels = append(labels, label{X: from, Text: f.Label()})
	}
	for _, m := range b.Phases {
		at := x(seconds(m.At))
		if !c.ContainsX(at) {
			continue
		}
		c.StrokeLine2(draw.LineStyle{Color: grey, Width: 0.7, Dashes: []vg.Length{2, 2}}, at, c.Min.Y, at, c.Max.Y)
		labels = append(labels, label{X: at, Text: m.Name})
	}
	placed, _ := place(labels, style, c.Min.X, c.Max.X, bandRows)
	for _, l := range placed {
		l.write(&c, style, c.Max.Y-bandRow*(vg.Length(l.Row)+0.5))
	}
}

func fillRect(c *draw.Canvas, x0, x1, y0, y1 vg.Length, clr color.Color) {
	var p vg.Path
	p.Move(vg.Point{X: x0, Y: y0})
	p.Line(vg.Point{X: x1, Y: y0})
	p.Line(vg.Point{X: x1, Y: y1})
	p.Line(vg.Point{X: x0, Y: y1})
	p.Close()
	c.SetColor(clr)
	c.Fill(p)
}
