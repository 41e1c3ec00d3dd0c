package runpage

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/timeline"
	"locklab/reports/words"
)

// throughputFigure draws grants per second over the whole run.
func throughputFigure(in result.Input, faults []measure.FaultSpan) chart.Figure {
	f := chart.Figure{
		Name: "throughput", Title: "Throughput",
		Caption: "Grants per second over the run. A gap under a shaded fault is the time in which no client got a lock. " +
			"The dashed line is the mean of the measured window, the number given above.",
		Absent: "Nothing was granted.",
		Height: 260,
	}
	lo, hi := timeline.RunExtent(in)
	bin := binWidth(hi-lo, in.Result.Operations.AcquiredInRun)
	counts := make([]float64, int(math.Ceil((hi-lo)/bin))+1)
	n := 0
	for i := range in.Acquisitions {
		a := &in.Acquisitions[i]
		if k := int((chart.Seconds(a.Returned) - lo) / bin); a.Granted() && k >= 0 && k < len(counts) {
			counts[k]++
			n++
		}
	}
	if n == 0 {
		return f
	}
	// The last bin is left out if the run's end cuts it short, because it would show a fall that did not happen.
	whole := int((hi - lo) / bin * (1 + 1e-12))
	if whole >= 1 {
		counts = counts[:whole]
	}
	var line plotter.XYs
	top := 0.0
	for k, v := range counts {
		rate := v / bin
		line = append(line, plotter.XY{X: lo + float64(k)*bin, Y: rate}, plotter.XY{X: lo + float64(k+1)*bin, Y: rate})
		top = max(top, rate)
	}
	p := chart.New("Throughput", "seconds since the start of the run", "grants per second")
	p.Add(chart.Grid{Horizontal: true}, timeline.Bands{Faults: faults, Phases: measure.PhaseMarks(in.Events)})
	area := append(plotter.XYs{{X: line[0].X, Y: 0}}, line...)
	area = append(area, plotter.XY{X: line[len(line)-1].X, Y: 0})
	poly, err := plotter.NewPolygon(area)
	if err != nil {
		return f // this cannot happen, because the values are finite
	}
	poly.Color, poly.LineStyle.Width = chart.Tint(chart.Blue, 0.35), 0
	l, err := plotter.NewLine(line)
	if err != nil {
		return f
	}
	l.LineStyle = draw.LineStyle{Color: chart.Blue, Width: 1.2}
	p.Add(poly, l)
	p.Explain(fmt.Sprintf("grants per second, in steps of %s", words.Duration(int64(bin*1e9))), l)
	if t, w := in.Result.Throughput.AcquiredPerS, in.Window; t != nil {
		mean, err := plotter.NewLine(plotter.XYs{{X: chart.Seconds(w.From), Y: *t}, {X: chart.Seconds(w.Until), Y: *t}})
		if err == nil {
			mean.LineStyle = draw.LineStyle{Color: chart.Black, Width: 1.2, Dashes: []vg.Length{5, 3}}
			p.Add(mean)
			p.Explain("mean of the window: "+words.Digits3(*t)+" per second", mean)
		}
	}
	p.X.Min, p.X.Max = lo, hi
	p.Y.Min, p.Y.Max = 0, max(top*1.3, 1e-9)
	p.X.Tick.Marker, p.Y.Tick.Marker = chart.Even{Want: 10}, chart.Even{Want: 5}
	f.Draw = p.Draw
	return f
}

// binWidth is 1 s, less for a short run, and more for a run of many minutes or with few grants, so that a step has
// some grants. No record, however odd its times, has more than a thousand steps or so.
func binWidth(seconds float64, grants int64) float64 {
	for _, w := range []float64{0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30} {
		if seconds/w <= 240 && (w >= 1 || seconds/w <= 60) && (float64(grants)*w >= 3*seconds || seconds/w <= 16) {
			return w
		}
	}
	return max(60, seconds/1000)
}
