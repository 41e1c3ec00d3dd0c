package runpage

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
	"locklab/reports/result"
	"locklab/reports/words"
)

// namedBars is the highest number of clients that have their names under the bars.
const namedBars = 24

// grantsFigure draws how many grants each client got, most first. Where clients strictly took turns, so that no two
// differ by more than one grant, there is nothing to see.
func grantsFigure(in result.Input, w result.Interval) chart.Figure {
	f := chart.Figure{
		Name: "grants", Title: "Grants per client",
		Caption: "Grants per client in the measured window, most first. A flat top is fair; " +
			"a slope means that some clients got more turns than others, an empty place that one starved.",
		Absent: "Nothing was granted in the measured window.",
		Height: 250,
	}
	all := result.Tallies(in.Acquisitions, w)
	var sum, top int64
	for _, t := range all {
		sum, top = sum+t.Grants, max(top, t.Grants)
	}
	if sum == 0 {
		return f
	}
	if top-all[len(all)-1].Grants <= 1 {
		f.Absent = "Clients strictly took turns: " + evenly(all) + "."
		return f
	}
	p := chart.New("Grants per client", fmt.Sprintf("clients, most grants first (%d)", len(all)), "grants")
	p.Add(chart.Grid{Horizontal: true}, bars(all))
	p.Explain("grants of a client", chart.Swatch{Color: chart.Tint(chart.Blue, 0.75)})
	mean := float64(sum) / float64(len(all))
	l, err := plotter.NewLine(plotter.XYs{{X: -0.5, Y: mean}, {X: float64(len(all)) - 0.5, Y: mean}})
	if err == nil {
		l.LineStyle = draw.LineStyle{Color: chart.Black, Width: 1.2, Dashes: []vg.Length{5, 3}}
		p.Add(l)
		p.Explain("mean: "+words.Digits3(mean), l)
	}
	p.X.Min, p.X.Max = -0.5, float64(len(all))-0.5
	p.Y.Min, p.Y.Max = 0, float64(top)*1.08
	p.Y.Tick.Marker = chart.Even{Whole: true, Want: 5}
	ticks := plot.ConstantTicks{}
	for i, t := range all {
		if len(all) <= namedBars {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: t.Client})
		}
	}
	p.X.Tick.Marker, p.X.Tick.Length = ticks, 0
	f.Draw = p.Draw
	return f
}

// bars is a plotter of one bar per client.
type bars []result.Tally

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	half := 0.4
	if len(b) > 120 {
		half = 0.5 // without gaps, which would be thinner than a pixel
	}
	for i, t := range b {
		if t.Grants > 0 {
			chart.FillRect(&c, x(float64(i)-half), x(float64(i)+half), y(0), y(float64(t.Grants)), chart.Tint(chart.Blue, 0.75))
		}
	}
}
