package timeline

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
	"locklab/reports/measure"
)

// Bands is a plotter that shades and names the faults, and marks where phases begin. The x axis is seconds of the
// run.
type Bands struct {
	Faults []measure.FaultSpan
	Phases []measure.PhaseMark
}

// The names of phases and faults are above the data.
const (
	bandRow  = 12
	bandRows = 3
)

// Plot implements plot.Plotter.
func (b Bands) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	inside := func(v vg.Length) vg.Length { return min(max(v, c.Min.X), c.Max.X) }
	style := chart.TextStyle(chart.SmallSize, chart.Grey)
	var labels []chart.Label
	for _, f := range b.Faults {
		from, to := inside(x(chart.Seconds(f.From))), inside(x(chart.Seconds(f.To)))
		if to <= c.Min.X || from >= c.Max.X {
			continue
		}
		chart.FillRect(&c, from, max(to, from+1), c.Min.Y, c.Max.Y, chart.Shade)
		labels = append(labels, chart.Label{X: from, Text: f.Label()})
	}
	for _, m := range b.Phases {
		at := x(chart.Seconds(m.At))
		if !c.ContainsX(at) {
			continue
		}
		c.StrokeLine2(draw.LineStyle{Color: chart.Grey, Width: 0.7, Dashes: []vg.Length{2, 2}}, at, c.Min.Y, at, c.Max.Y)
		labels = append(labels, chart.Label{X: at, Text: m.Name})
	}
	placed, _ := chart.Place(labels, style, c.Min.X, c.Max.X, bandRows)
	for _, l := range placed {
		l.Write(&c, style, c.Max.Y-bandRow*(vg.Length(l.Row)+0.5))
	}
}
