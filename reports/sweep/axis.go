package sweep

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"locklab/reports/chart"
)

// logFrom is the ratio of the highest load to the lowest from which on their axis is logarithmic.
const logFrom = 8

// logarithmic reports whether an axis of these loads is.
func logarithmic(lo, hi float64) bool { return lo > 0 && hi/lo >= logFrom }

// loadAxis makes x an axis of the load, with the measured loads as its ticks. A label that would run into the one
// before is left out.
func (s *Sweep) loadAxis(p *plot.Plot, width vg.Length) {
	var loads []float64
	for _, point := range s.points() {
		loads = append(loads, point.Load)
	}
	slices.Sort(loads)
	loads = slices.Compact(loads)
	lo, hi := loads[0], loads[len(loads)-1]
	share := func(v float64) float64 { return (v - lo) / max(hi-lo, 1e-12) } // of the axis
	switch {
	case logarithmic(lo, hi):
		p.X.Scale = plot.LogScale{}
		share = func(v float64) float64 { return math.Log(v/lo) / math.Log(hi/lo) }
		margin := math.Pow(hi/lo, 0.04)
		p.X.Min, p.X.Max = lo/margin, hi*margin
	case hi > lo:
		p.X.Min, p.X.Max = lo-0.04*(hi-lo), hi+0.04*(hi-lo)
	default:
		p.X.Min, p.X.Max = lo-1, lo+1
	}
	var ticks plot.ConstantTicks
	style := chart.TextStyle(chart.TextSize, chart.Black)
	end := vg.Length(math.Inf(-1)) // of the last label
	for _, v := range loads {
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

// second returns the parameter besides the load that has the most values, and these; "" if there is none.
func (s *Sweep) second() (key string, values []string) {
	for _, p := range s.Params {
		if p.Key != s.Load && len(p.Values) > max(1, len(values)) {
			key, values = p.Key, p.Values
		}
	}
	return key, values
}
