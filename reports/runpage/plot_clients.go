package runpage

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
	"locklab/reports/words"
)

const (
	// namedBars is the highest number of clients that have their names under the bars.
	namedBars = 24
	// enoughWaits is how many waits of a client tell of its median.
	enoughWaits = 10
	// tellingWaits is how many times as long the longest median of a client's waits is as the shortest if it is drawn.
	tellingWaits = 1.5
	// tellingBypasses is the least number of bypasses that is drawn: an ordered queue may have one.
	tellingBypasses = 2
)

// clientFigures draws what the clients' shares of the lock were, a bar for each client. Equal bars say nothing, so each
// is drawn only where clients differ.
func clientFigures(all []clientShare) []chart.Figure {
	return []chart.Figure{grantsFigure(all), waitsFigure(all), bypassesFigure(all)}
}

// grantsFigure draws how many grants each client got. Where clients strictly took turns, so that no two differ by more
// than one grant, there is nothing to see.
func grantsFigure(all []clientShare) chart.Figure {
	f := chart.Figure{
		Name: "grants", Title: "Grants per client",
		Caption: "Grants per client in the measured window, most first. A flat top is fair; " +
			"a slope means that some clients got more turns than others, an empty place that one starved.",
		Absent: "Nothing was granted in the measured window.",
	}
	b := bars{of: all, height: func(s *clientShare) float64 { return float64(s.Grants) }}
	var sum int64
	for i := range all {
		sum += all[i].Grants
	}
	if sum == 0 {
		return f
	}
	if all[0].Grants-all[len(all)-1].Grants <= 1 {
		f.Absent = "Clients strictly took turns: " + evenly(all) + "."
		return f
	}
	p := b.chart(&f, "grants", "grants of a client", chart.Even{Whole: true, Want: 5})
	mean := float64(sum) / float64(len(all))
	l, err := plotter.NewLine(plotter.XYs{{X: -0.5, Y: mean}, {X: float64(len(all)) - 0.5, Y: mean}})
	if err == nil {
		l.LineStyle = draw.LineStyle{Color: chart.Black, Width: 1.2, Dashes: []vg.Length{5, 3}}
		p.Add(l)
		p.Explain("mean: "+words.Digits3(mean), l)
	}
	return f
}

// waitsFigure draws how long each client waited in the median, if that is telling.
func waitsFigure(all []clientShare) chart.Figure {
	f := chart.Figure{
		Name: "waits", Title: "Median wait of each client",
		Caption: "How long a client waited for the lock in the median, in the order of the grants. Clients that wait " +
			"longer than others for the same lock are treated worse, or ask for it at worse times.",
	}
	var medians []int64
	for i := range all {
		if s := &all[i]; s.Waits >= enoughWaits {
			medians = append(medians, *s.Median)
		}
	}
	if len(medians) < 2 || float64(slices.Max(medians)) < tellingWaits*float64(slices.Min(medians)) {
		return f
	}
	b := bars{of: all, height: func(s *clientShare) float64 {
		if s.Median == nil {
			return 0
		}
		return chart.Millis(*s.Median)
	}}
	b.chart(&f, "median wait", "median wait of a client", chart.Even{Unit: " ms", Want: 5})
	return f
}

// bypassesFigure draws how often each client was passed over in one wait, if some were.
func bypassesFigure(all []clientShare) chart.Figure {
	f := chart.Figure{
		Name: "bypasses", Title: "Bypasses of each client",
		Caption: "The most grants that went to clients that asked later, while a client had its place in the queue, in the " +
			"order of the grants. A queue that is kept in order has none, or one at the moment of the grant.",
	}
	if !slices.ContainsFunc(all, func(s clientShare) bool { return s.Bypassed != nil && *s.Bypassed >= tellingBypasses }) {
		return f
	}
	b := bars{of: all, height: func(s *clientShare) float64 {
		if s.Bypassed == nil {
			return 0
		}
		return float64(*s.Bypassed)
	}}
	b.chart(&f, "grants to others", "most bypasses of one wait", chart.Even{Whole: true, Want: 5})
	return f
}

// bars is a plotter of one bar per client.
type bars struct {
	of     []clientShare
	height func(*clientShare) float64
}

func (b bars) chart(f *chart.Figure, y, explains string, ticks plot.Ticker) *chart.Chart {
	p := chart.New(f.Title, fmt.Sprintf("clients, most grants first (%d)", len(b.of)), y)
	p.Add(chart.Grid{Horizontal: true}, b)
	p.Explain(explains, chart.Swatch{Color: barColor})
	p.X.Min, p.X.Max = -0.5, float64(len(b.of))-0.5
	top := 0.0
	names := plot.ConstantTicks{}
	for i := range b.of {
		top = max(top, b.height(&b.of[i]))
		if len(b.of) <= namedBars {
			names = append(names, plot.Tick{Value: float64(i), Label: b.of[i].Client})
		}
	}
	p.Y.Min, p.Y.Max = 0, top*1.08
	p.Y.Tick.Marker = ticks
	p.X.Tick.Marker, p.X.Tick.Length = names, 0
	f.Height, f.Draw = 250, p.Draw
	return p
}

var barColor = chart.Tint(chart.Blue, 0.75)

// Plot implements plot.Plotter.
func (b bars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	half := 0.4
	if len(b.of) > 120 {
		half = 0.5 // without gaps, which would be thinner than a pixel
	}
	for i := range b.of {
		if v := b.height(&b.of[i]); v > 0 {
			chart.FillRect(&c, x(float64(i)-half), x(float64(i)+half), y(0), y(v), barColor)
		}
	}
}
