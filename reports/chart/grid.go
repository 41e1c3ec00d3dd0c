package chart

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Grid draws a line at each labelled tick. It is added first, so that it is below the data. The grid of gonum also
// has a line at every minor tick.
type Grid struct{ Horizontal, Vertical bool }

// Plot implements plot.Plotter.
func (g Grid) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	style := draw.LineStyle{Color: LightGrey, Width: vg.Points(0.5)}
	if g.Vertical {
		for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
			if at := x(t.Value); !t.IsMinor() && c.ContainsX(at) {
				c.StrokeLine2(style, at, c.Min.Y, at, c.Max.Y)
			}
		}
	}
	if g.Horizontal {
		for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			if at := y(t.Value); !t.IsMinor() && c.ContainsY(at) {
				c.StrokeLine2(style, c.Min.X, at, c.Max.X, at)
			}
		}
	}
}
