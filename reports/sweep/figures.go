package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/capacity"
	"locklab/reports/chart"
	"locklab/reports/words"
)

// figures are a sweep's pictures, in the order of its page.
func (s *Sweep) figures() []chart.Figure {
	all := []chart.Figure{s.failoverFigure(), s.limitsFigure(), s.searchFigure(), s.loadFigure(),
		s.waitFigure(), s.multiplesFigure(), s.uslFigure()}
	return slices.DeleteFunc(all, func(f chart.Figure) bool { return f.Draw == nil })
}

// A quantity is what a picture shows of each point, on its y axis. A point that lacks the number is left out.
type quantity struct {
	title  string
	of     func(p *Point) *float64
	model  func(p *Point) *float64 // what the model says of it; nil = nothing
	ranged bool                    // the extremes of the throughput over the runs are shown
	log    plot.Ticker             // the ticks of a logarithmic axis; nil = the axis is linear and begins at 0
}

var (
	throughput = quantity{title: "acquisitions per second", ranged: true,
		of: func(p *Point) *float64 { return p.AcquiredPerS },
		model: func(p *Point) *float64 {
			if p.Predicted == nil {
				return nil
			}
			return &p.Predicted.AcquiredPerS
		}}
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

// shapes distinguish series when there are more of them than colours.
var shapes = [...]draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}}

// seriesTrace is an empty trace with the colour and the shape of the i-th series.
func seriesTrace(i int) chart.Trace {
	return chart.Trace{Color: chart.Owners[i%len(chart.Owners)], Shape: shapes[i/len(chart.Owners)%len(shapes)]}
}

// modelTrace is an empty trace of what the model of the i-th series predicts.
func modelTrace(i int) chart.Trace {
	return chart.Trace{Color: seriesTrace(i).Color, Dashes: chart.Dashed}
}

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

// knee is where the series' knee is on an axis of clients; 0 if it is not known.
func (s *Series) knee(load string) float64 {
	if load != "clients" || s.Model == nil || s.Model.KneeClients == nil {
		return 0
	}
	return *s.Model.KneeClients
}

// panel draws a quantity of some series against the load. Its y axis is left to fitY.
func (s *Sweep) panel(m quantity, which []int, width vg.Length) *plot.Plot {
	p := chart.NewPanel(m.title)
	p.Add(chart.Grid{Horizontal: true})
	for n, i := range which {
		series := &s.Series[i]
		measured := seriesTrace(n)
		if m.model != nil {
			predicted := modelTrace(n)
			predicted.XYs = series.values(m.model)
			p.Add(predicted)
		}
		measured.XYs = series.values(m.of)
		for k := range series.Points {
			if p := &series.Points[k]; m.ranged && p.AcquiredPerS != nil {
				measured.Ranges = append(measured.Ranges, [2]float64{*p.AcquiredPerSMin, *p.AcquiredPerSMax})
			}
		}
		p.Add(measured)
		if knee := series.knee(s.Load); knee > 0 {
			p.Add(chart.Rule{At: knee, Color: measured.Color, Text: "knee " + words.Digits3(knee), Row: n})
		}
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
	drawn := chart.Panels{Title: title, Keys: s.legend(groups[widest], by, measures)}
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
func (s *Sweep) legend(which []int, by string, measures []quantity) (keys []chart.Key) {
	if by != "" && len(which) == 1 {
		which = nil // the titles of the panels say it all
	}
	for n, i := range which {
		keys = append(keys, chart.Key{Text: cmp.Or(s.nameWithout(i, by), "measured"), Thumb: seriesTrace(n)})
	}
	modelled := slices.ContainsFunc(s.Series, func(x Series) bool { return x.Model != nil })
	if modelled && slices.ContainsFunc(measures, func(m quantity) bool { return m.model != nil }) {
		keys = append(keys, chart.Key{Text: "predicted by the model",
			Thumb: chart.Trace{Color: chart.Grey, Dashes: chart.Dashed}})
	}
	if slices.ContainsFunc(which, func(i int) bool { return s.Series[i].knee(s.Load) > 0 }) {
		keys = append(keys, chart.Key{Text: "knee by the model: more clients only wait",
			Thumb: chart.Rule{Color: chart.Grey}})
	}
	return keys
}

// loadFigure draws throughput and p99 against the load.
func (s *Sweep) loadFigure() chart.Figure {
	return s.against(chart.Figure{Name: "load",
		Caption: "Throughput and the 99th percentile of the time to get the lock, against the load. Bars: lowest and " +
			"highest of the runs of a point. To the right of a knee, by the model, more clients add nothing but waiting."},
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
			"load. Dotted: the model’s highest throughput."}
	if s.Load == "" || !s.has(tail) {
		return f
	}
	p := chart.New("The wait at each throughput", "acquisitions per second", "p99 to get the lock (log scale)")
	p.Add(chart.Grid{Horizontal: true, Vertical: true})
	var labels chart.PointLabels // of all series together, so that none covers another
	for n := range s.Series {
		t := seriesTrace(n)
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
		if m := s.Series[n].Model; m != nil && m.MostPerS != nil && (s.Load == "clients" || s.Load == "rate") {
			p.Add(chart.Rule{At: *m.MostPerS, Color: t.Color, Text: "at most " + words.Digits3(*m.MostPerS), Row: n,
				Bottom: true})
			if *m.MostPerS < 1.5*p.X.Max {
				p.X.Max = max(p.X.Max, *m.MostPerS)
			}
		}
	}
	p.Add(labels)
	fitY(chart.LogTime{}, p.Plot)
	p.Y.Min /= 1.5 // room for the texts of the models below the points
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, p.X.Max*1.1, chart.Even{Want: 10}
	f.Draw = p.Draw
	return f
}

// uslFigure draws the scalability law through the points that it was fitted to.
func (s *Sweep) uslFigure() chart.Figure {
	f := chart.Figure{Name: "scalability", Height: 320,
		Caption: "Throughput by number of locks, and the Universal Scalability Law fitted to it, dashed. It is drawn up to " +
			"twice the measured range, which is as far as it answers for."}
	p := chart.New("How throughput grows with the number of locks", "locks", "acquisitions per second")
	p.Add(chart.Grid{Horizontal: true})
	furthest := 0.0
	for n := range s.Series {
		u := s.Series[n].USL
		if u == nil {
			continue
		}
		measured, law := seriesTrace(n), modelTrace(n)
		measured.NoLine, measured.XYs = true, s.Series[n].values(throughput.of)
		from, to := max(u.From, 1), capacity.Reach*u.To
		for k := range 121 {
			x := from * math.Pow(to/from, float64(k)/120)
			law.XYs = append(law.XYs, plotter.XY{X: x, Y: u.At(x)})
		}
		furthest = max(furthest, to)
		p.Add(law, measured)
		p.Explain(cmp.Or(s.Series[n].Name, "measured"), measured)
		p.Explain(fmt.Sprintf("scalability law (σ %s, κ %s, R² %s)", words.Digits3(u.Sigma), words.Digits3(u.Kappa),
			u.r2()), law)
	}
	if furthest == 0 {
		return f
	}
	s.loadAxis(p.Plot, chart.PictureWidth)
	p.X.Max = furthest * 1.05
	fitY(nil, p.Plot)
	f.Draw = p.Draw
	return f
}

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
