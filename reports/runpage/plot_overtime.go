package runpage

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/timeline"
	"locklab/reports/words"
)

// overTimeFigure draws every acquire at the time at which it ended: as a dot or, of many, as a heat map.
func overTimeFigure(in result.Input, faults []measure.FaultSpan) chart.Figure {
	f := chart.Figure{
		Name: "latency-over-time", Title: "Acquire latency over time",
		Caption: "Each dot is one acquire, placed where it was granted, as high as it had waited. " +
			"Crosses are acquires that ended without the lock. Shaded: a fault was active. Only what was asked for between " +
			"“measure” and “drain” counts in the numbers.",
		Absent: "No acquire was completed.",
		Height: 340,
	}
	granted, refused := make(plotter.XYs, 0, len(in.Acquisitions)), plotter.XYs{}
	for i := range in.Acquisitions {
		a := &in.Acquisitions[i]
		if a.Returned == history.None {
			continue
		}
		at := plotter.XY{X: chart.Seconds(a.Returned), Y: chart.Millis(a.Latency())}
		if a.Granted() {
			granted = append(granted, at)
		} else {
			refused = append(refused, at)
		}
	}
	if len(granted)+len(refused) == 0 {
		return f
	}
	p := chart.New("Acquire latency over time", "seconds since the start of the run", "time to get the lock (log scale)")
	p.Add(chart.Grid{Horizontal: true}, timeline.Bands{Faults: faults, Phases: measure.PhaseMarks(in.Events)})
	lo, hi := math.Inf(1), 0.0
	for _, at := range slices.Concat(granted, refused) {
		lo, hi = min(lo, at.Y), max(hi, at.Y)
	}
	lowest, highest := timeline.RunExtent(in)
	p.Y.Min, p.Y.Max = chart.FitLog(lo, hi)
	p.Y.Max *= math.Pow(p.Y.Max/p.Y.Min, 0.18) // room for the names of faults and phases
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogTime{}
	p.X.Min, p.X.Max = lowest, highest
	p.X.Tick.Marker = chart.Even{Want: 10}
	if what := fmt.Sprintf("granted (%s)", words.Grouped(int64(len(granted)))); len(granted) < heatFrom {
		dot := chart.Dots{XYs: granted, Color: chart.Tint(chart.Blue, 0.75), Size: 3}
		p.Add(dot)
		p.Explain(what, dot)
	} else {
		h := newHeat(granted, p.X, p.Y)
		p.Add(h)
		h.explain(p, what)
		f.Caption = strings.Replace(f.Caption, "Each dot is one acquire, placed where it was granted, as high as it had "+
			"waited.", "Each cell is the acquires that were granted then after such a wait, the stronger the more they are.", 1)
	}
	if len(refused) > 0 {
		x := chart.Crosses{XYs: refused, Color: chart.Vermillion}
		p.Add(x)
		p.Explain(fmt.Sprintf("ended without the lock (%s)", words.Grouped(int64(len(refused)))), x)
	}
	step, each := stepWidth(highest-lowest), "second"
	if step > 1 {
		each = words.Duration(int64(step * 1e9))
	}
	for _, q := range []struct {
		p     float64
		style draw.LineStyle
	}{{99, draw.LineStyle{Color: chart.Black, Width: 1.4, Dashes: []vg.Length{4, 2}}},
		{50, draw.LineStyle{Color: chart.Black, Width: 1.4}}} {
		var thumb *plotter.Line
		for _, piece := range perStep(granted, q.p, step) {
			l, err := plotter.NewLine(piece)
			if err != nil {
				continue // this cannot happen, because the values are finite
			}
			l.LineStyle = q.style
			p.Add(l)
			thumb = l
		}
		if thumb != nil {
			p.Explain(fmt.Sprintf("p%v of each %s", q.p, each), thumb)
		}
	}
	f.Draw = p.Draw
	return f
}

// stepWidth is the number of seconds over which a percentile is taken: 1, or more if there would be too many steps to
// distinguish.
func stepWidth(seconds float64) float64 {
	for _, w := range []float64{1, 2, 5, 10, 20, 30, 60, 120, 300} {
		if seconds/w <= 60 {
			return w
		}
	}
	return 600
}

// perStep returns a percentile of each step, as level lines. A step with too few samples for it is a gap.
func perStep(points plotter.XYs, p, width float64) []plotter.XYs {
	by := map[int][]float64{}
	for _, at := range points {
		k := int(math.Floor(at.X / width))
		by[k] = append(by[k], at.Y)
	}
	var pieces []plotter.XYs
	last := math.MinInt
	for _, k := range slices.Sorted(maps.Keys(by)) {
		v := by[k]
		if !measure.EnoughSamples(p, int64(len(v))) || len(v) < 10 {
			continue
		}
		if k != last+1 {
			pieces = append(pieces, nil)
		}
		last = k
		slices.Sort(v)
		y := v[int(math.Ceil(p/100*float64(len(v))))-1]
		piece := &pieces[len(pieces)-1]
		*piece = append(*piece, plotter.XY{X: float64(k) * width, Y: y}, plotter.XY{X: float64(k+1) * width, Y: y})
	}
	return pieces
}
