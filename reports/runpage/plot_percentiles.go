package runpage

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

var phaseColors = map[string]struct {
	line draw.LineStyle
}{
	measure.PhaseAcquire: {draw.LineStyle{Color: chart.Blue, Width: 2}},
	measure.PhaseService: {draw.LineStyle{Color: chart.Blue, Width: 1.4, Dashes: []vg.Length{3, 2}}},
	measure.PhaseHandoff: {draw.LineStyle{Color: chart.Vermillion, Width: 2, Dashes: []vg.Length{6, 3}}},
	measure.PhaseHold:    {draw.LineStyle{Color: chart.Green, Width: 2, Dashes: []vg.Length{2, 2}}},
	measure.PhaseRelease: {draw.LineStyle{Color: chart.Purple, Width: 2, Dashes: []vg.Length{8, 3, 2, 3}}},
}

// percentilesFigure draws every phase's distribution, each as far as its samples reach, because n samples say nothing
// beyond 1 - 1/n. In an open loop it has the wait as callers feel it, from when an acquisition was due, and the raw
// one, from when a client asked.
func percentilesFigure(in result.Input) chart.Figure {
	f := chart.Figure{
		Name: "latency-percentiles", Title: "Latency by percentile",
		Caption: "Latency by percentile. Read a line at 99: ninety-nine of a hundred took no longer than that. " +
			"The axis stretches the slow end; each line stops where its sample does.",
		Absent: "No operation was completed in the measured window.",
		Height: 330,
	}
	p := chart.New("Latency by percentile", "percentile (%)", "time (log scale)")
	p.Add(chart.Grid{Horizontal: true, Vertical: true})
	lo, hi, right := math.Inf(1), 0.0, 1.0
	phases := measure.MainPhases[:]
	names := map[string]string{}
	if in.Scenario.Open() {
		phases = slices.Insert(slices.Clone(phases), 1, measure.PhaseService)
		names = map[string]string{measure.PhaseAcquire: "acquire from when it was due",
			measure.PhaseService: "raw, from when a client asked"}
	}
	for _, phase := range phases {
		r := in.Latencies[phase]
		n := r.Hist.TotalCount()
		if n < 2 {
			continue
		}
		reach := math.Log10(float64(n))
		var line plotter.XYs
		const steps = 240
		for i := 0; i <= steps; i++ {
			x := reach * float64(i) / steps
			line = append(line, plotter.XY{X: x, Y: chart.Millis(r.At(100 * (1 - math.Pow(10, -x))))})
		}
		l, err := plotter.NewLine(line)
		if err != nil {
			continue // this cannot happen, because the values are finite
		}
		l.LineStyle = phaseColors[phase].line
		l.StepStyle = plotter.NoStep
		p.Add(l)
		p.Explain(fmt.Sprintf("%s (n = %s)", cmp.Or(names[phase], phase), words.Grouped(n)), l)
		lo, hi, right = min(lo, line[0].Y), max(hi, line[steps].Y), max(right, reach)
	}
	if math.IsInf(lo, 1) {
		return f
	}
	p.X.Min, p.X.Max = 0, right
	p.X.Tick.Marker = chart.Nines{}
	p.Y.Min, p.Y.Max = chart.FitLog(lo, hi)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogTime{}

	f.Draw = p.Draw
	return f
}
