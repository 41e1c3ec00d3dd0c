package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"locklab/reports/chart"
)

// figures are a sweep's pictures, in the order of its page.
func (s *Sweep) figures() []chart.Figure {
	all := []chart.Figure{s.failoverFigure(), s.limitsFigure(), s.searchFigure(), s.loadFigure(),
		s.waitFigure(), s.multiplesFigure()}
	return slices.DeleteFunc(all, func(f chart.Figure) bool { return f.Draw == nil })
}

// A quantity is what a picture shows of each point, on its y axis. A point that lacks the number is left out.
type quantity struct {
	title  string
	of     func(p *Point) *float64
	ranged bool        // the extremes of the throughput over the runs are shown
	log    plot.Ticker // the ticks of a logarithmic axis; nil = the axis is linear and begins at 0
}

var (
	throughput = quantity{title: "acquisitions per second", ranged: true,
		of: func(p *Point) *float64 { return p.AcquiredPerS }}
	tail = quantity{title: "p99 of the time to get the lock (log scale)", log: chart.LogTime{},
		of: func(p *Point) *float64 {
			ns := p.median("acquire.p99")
			if ns == nil {
				return nil
			}
			return new(chart.Millis(int64(*ns)))
		}}
	limit = quantity{title: "the answer of each search",
		of: func(p *Point) *float64 {
			if p.Limit == nil {
				return nil
			}
			return p.Limit.Lower
		}}
)

// values collects a quantity over a series.
func (s *Series) values(of func(p *Point) *float64) plotter.XYs {
	var at plotter.XYs
	for i := range s.Points {
		if v := of(&s.Points[i]); v != nil {
			at = append(at, plotter.XY{X: s.Points[i].Load, Y: *v})
		}
	}
	return at
}

// panel draws a quantity of some series against the load. Its y axis is left to fitY.
func (s *Sweep) panel(m quantity, which []int, width vg.Length) *plot.Plot {
	p := chart.NewPanel(m.title)
	p.Add(chart.Grid{Horizontal: true})
	for n, i := range which {
		series := &s.Series[i]
		measured := chart.SeriesTrace(n)
		measured.XYs = series.values(m.of)
		for k := range series.Points {
			if p := &series.Points[k]; m.ranged && p.AcquiredPerS != nil {
				measured.Ranges = append(measured.Ranges, [2]float64{*p.AcquiredPerSMin, *p.AcquiredPerSMax})
			}
		}
		p.Add(measured)
	}
	s.loadAxis(p, width)
	return p
}

// fitY gives panels of a quantity the same y axis: from 0, or a logarithmic one with these ticks.
func fitY(ticks plot.Ticker, all ...*plot.Plot) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range all {
		lo, hi = min(lo, p.Y.Min), max(hi, p.Y.Max)
	}
	for _, p := range all {
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, hi*1.15, chart.Even{Want: 5}
		if ticks != nil {
			p.Y.Min, p.Y.Max = chart.FitLog(lo, hi)
			p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, ticks
		}
	}
}

// has reports whether a point has a measure.
func (s *Sweep) has(m quantity) bool {
	for _, p := range s.points() {
		if m.of(p) != nil {
			return true
		}
	}
	return false
}

// The most columns of panels in a picture, and the heights of its rows.
const (
	panelColumns = 4
	panelHeight  = 170
	wideHeight   = 240 // of a single column
)

// against draws measures against the load, one below the other. If by is a parameter, there is a column of panels for
// each of its values. Measures that no point has are left out.
func (s *Sweep) against(f chart.Figure, title, by string, values []string, measures ...quantity) chart.Figure {
	measures = slices.DeleteFunc(measures, func(m quantity) bool { return !s.has(m) })
	if len(measures) == 0 || s.Load == "" {
		return f
	}
	across, height := min(len(values), panelColumns), vg.Length(panelHeight)
	if by == "" {
		values, across, height = []string{""}, 1, wideHeight
	}
	groups := make([][]int, len(values)) // the series of each column
	widest := 0                          // the one with the most series
	for k, value := range values {
		for i := range s.Series {
			if s.Series[i].Values[by] == value {
				groups[k] = append(groups[k], i)
			}
		}
		if len(groups[k]) > len(groups[widest]) {
			widest = k
		}
	}
	drawn := chart.Panels{Title: title, Keys: s.legend(groups[widest], by)}
	all := make([][]*plot.Plot, len(measures))
	for i, m := range measures {
		for k, which := range groups {
			p := s.panel(m, which, chart.PictureWidth/vg.Length(across)-50)
			if by != "" && i == 0 {
				p.Title.Text = by + " " + values[k]
			} else if by != "" {
				p.Title.Text = ""
			}
			if i < len(measures)-1 {
				p.X.Label.Text = ""
			}
			all[i] = append(all[i], p)
		}
		fitY(m.log, all[i]...)
	}
	for from := 0; from < len(values); from += across {
		for i := range all {
			row := make([]*plot.Plot, across)
			copy(row, all[i][from:])
			drawn.Rows = append(drawn.Rows, row)
		}
	}
	f.Height, f.Draw = drawn.Height(height), drawn.Draw
	return f
}

// legend explains the series of a picture that has a column for each value of the key by.
func (s *Sweep) legend(which []int, by string) (keys []chart.Key) {
	if by != "" && len(which) == 1 {
		which = nil // the titles of the panels say it all
	}
	for n, i := range which {
		keys = append(keys, chart.Key{Text: cmp.Or(s.nameWithout(i, by), "measured"), Thumb: chart.SeriesTrace(n)})
	}
	return keys
}

// loadFigure draws throughput and p99 against the load.
func (s *Sweep) loadFigure() chart.Figure {
	return s.against(chart.Figure{Name: "load",
		Caption: "Throughput and the 99th percentile of the time to get the lock, against the load. Bars: lowest and " +
			"highest of the runs of a point."},
		"Throughput and wait against "+s.Load, "", nil, throughput, tail)
}

// limitsFigure draws the limits that searches found against the load.
func (s *Sweep) limitsFigure() chart.Figure {
	return s.against(chart.Figure{Name: "limits", Caption: "What was searched for, against what was varied."},
		"The "+s.Over+" that keeps "+s.goals(), "", nil, limit)
}

// multiplesFigure is loadFigure with a column of panels for each value of the second parameter.
func (s *Sweep) multiplesFigure() chart.Figure {
	by, values := s.second()
	if by == "" {
		return chart.Figure{}
	}
	title := "Acquisitions per second (above) and p99 to get the lock (below), by " + by
	if !s.has(tail) { // no run was long enough for a p99
		title = "Acquisitions per second, by " + by
	}
	return s.against(chart.Figure{Name: "small-multiples",
		Caption: fmt.Sprintf("The same, a column for each %s, all with the same axes.", by)},
		title, by, values, throughput, tail)
}

// waitFigure draws the wait against the throughput.
func (s *Sweep) waitFigure() chart.Figure {
	f := chart.Figure{Name: "hockey-stick", Height: 360,
		Caption: "How long clients wait at each throughput. The lock is full where the line turns upwards; numbers are the " +
			"load."}
	if s.Load == "" || !s.has(tail) {
		return f
	}
	p := chart.New("The wait at each throughput", "acquisitions per second", "p99 to get the lock (log scale)")
	p.Add(chart.Grid{Horizontal: true, Vertical: true})
	var labels chart.PointLabels // of all series together, so that none covers another
	for n := range s.Series {
		t := chart.SeriesTrace(n)
		for k := range s.Series[n].Points {
			point := &s.Series[n].Points[k]
			if x, y := throughput.of(point), tail.of(point); x != nil && y != nil {
				t.XYs = append(t.XYs, plotter.XY{X: *x, Y: *y})
				labels.Texts = append(labels.Texts, s.label(point.Load))
			}
		}
		labels.XYs = append(labels.XYs, t.XYs...)
		p.Add(t)
		p.Explain(cmp.Or(s.Series[n].Name, "measured"), t)
	}
	p.Add(labels)
	fitY(chart.LogTime{}, p.Plot)
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, p.X.Max*1.1, chart.Even{Want: 10}
	f.Draw = p.Draw
	return f
}

// logFrom is the ratio of the highest load to the lowest from which on their axis is logarithmic.
const logFrom = 8

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
