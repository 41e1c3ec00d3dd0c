package reports

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var phaseColors = map[string]struct {
	line draw.LineStyle
}{
	PhaseAcquire: {draw.LineStyle{Color: blue, Width: 2}},
	PhaseHandoff: {draw.LineStyle{Color: vermillion, Width: 2, Dashes: []vg.Length{6, 3}}},
	PhaseHold:    {draw.LineStyle{Color: green, Width: 2, Dashes: []vg.Length{2, 2}}},
	PhaseRelease: {draw.LineStyle{Color: purple, Width: 2, Dashes: []vg.Length{8, 3, 2, 3}}},
}

// nines is the axis of 1/(1-p): as much room for 90 to 99 as for 99 to 99.9.
// Its values are -log10(1-p), so 0 is the minimum, 1 is p90 and 2 is p99.
type nines struct{}

// Ticks implements plot.Ticker.
func (nines) Ticks(_, hi float64) []plot.Tick {
	var ticks []plot.Tick
	add := func(percent float64, name string) {
		if v := -math.Log10(1 - percent/100); v <= hi*(1+1e-9) {
			ticks = append(ticks, plot.Tick{Value: v, Label: name})
		}
	}
	add(0, "0")
	add(50, "50")
	add(75, "")
	for k := 1; float64(k) <= hi*(1+1e-9); k++ {
		p := 100 * (1 - math.Pow10(-k))
		add(p, fmt.Sprintf("%.*f", max(0, k-2), p))
		add(100*(1-0.5*math.Pow10(-k)), "")
	}
	return ticks
}

// percentilesFigure draws every phase's distribution, each as far as its
// sample reaches: n samples say nothing beyond 1 - 1/n.
func percentilesFigure(in Input, w window) figure {
	f := figure{
		Name: "latency-percentiles",
		Caption: "Latency by percentile. Read a line at 99: ninety-nine of a hundred took no longer than that. " +
			"The axis stretches the slow end; each line stops where its sample does.",
		Absent: "No operation was completed in the measured window.",
		Height: 330,
	}
	all := samples(in.Acquisitions, w)
	p := newChart("Latency by percentile", "percentile (%)", "time (log scale)")
	p.Add(grid{Horizontal: true, Vertical: true})
	lo, hi, right := math.Inf(1), 0.0, 1.0
	for _, phase := range mainPhases {
		r := record(all[phase])
		n := r.hist.TotalCount()
		if n < 2 {
			continue
		}
		reach := math.Log10(float64(n))
		var line plotter.XYs
		const steps = 240
		for i := 0; i <= steps; i++ {
			x := reach * float64(i) / steps
			line = append(line, plotter.XY{X: x, Y: millis(r.at(100 * (1 - math.Pow(10, -x))))})
		}
		l, err := plotter.NewLine(line)
		if err != nil {
			continue // impossible: millis is finite
		}
		l.LineStyle = phaseColors[phase].line
		l.StepStyle = plotter.NoStep
		p.Add(l)
		p.explain(fmt.Sprintf("%s (n = %s)", phase, grouped(n)), l)
		lo, hi, right = min(lo, line[0].Y), max(hi, line[steps].Y), max(right, reach)
	}
	if math.IsInf(lo, 1) {
		return f
	}
	p.X.Min, p.X.Max = 0, right
	p.X.Tick.Marker = nines{}
	p.Y.Min, p.Y.Max = fitLog(lo, hi)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTime{}

	f.Draw = p.Draw
	return f
}
