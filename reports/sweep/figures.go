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
	"locklab/reports/words"
)

// figures are a sweep's pictures, in the order of its page.
func (s *Sweep) figures() []chart.Figure {
	all := []chart.Figure{s.limitsFigure(), s.searchFigure(), s.loadFigure(), s.waitFigure(), s.multiplesFigure(),
		s.predictedFigure(), s.uslFigure()}
	return slices.DeleteFunc(all, func(f chart.Figure) bool { return f.Draw == nil && f.Absent == "" })
}

// A measure is what a picture shows of each point, on its y axis.
type measure struct {
	title string
	of    func(p *Point) (float64, bool)
	model func(p *Point) (float64, bool)           // what the model says of it; nil = nothing
	runs  func(p *Point) (lo, hi float64, ok bool) // its extremes over the runs; nil = they are not shown
	isLog bool
}

func known[T int64 | float64](v *T, scale float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return float64(*v) * scale, true
}

var (
	throughputMeasure = measure{
		title: "acquisitions per second",
		of:    func(p *Point) (float64, bool) { return known(p.AcquiredPerS, 1) },
		model: func(p *Point) (float64, bool) {
			if p.Predicted == nil {
				return 0, false
			}
			return p.Predicted.AcquiredPerS, true
		},
		runs: func(p *Point) (lo, hi float64, ok bool) {
			if p.AcquiredPerS == nil || p.AcquiredPerSMin == nil || p.AcquiredPerSMax == nil {
				return 0, 0, false
			}
			return *p.AcquiredPerSMin, *p.AcquiredPerSMax, true
		}}
	tailMeasure = measure{title: "p99 of the time to get the lock (log scale)", isLog: true,
		of: func(p *Point) (float64, bool) {
			v, ok := known(p.AcquireP99Ns, 1e-6)
			return max(v, chart.Floor), ok
		}}
	limitMeasure = measure{title: "highest rate that holds, per second",
		of: func(p *Point) (float64, bool) {
			if p.Limit == nil {
				return 0, false
			}
			return known(p.Limit.LastPass, 1)
		}}
)

// values collects a measure over a series.
func (s *Series) values(of func(p *Point) (float64, bool)) plotter.XYs {
	var at plotter.XYs
	for i := range s.Points {
		if v, ok := of(&s.Points[i]); ok {
			at = append(at, plotter.XY{X: s.Points[i].Load, Y: v})
		}
	}
	return at
}

// ranges collects the extremes of a measure over a series.
func (s *Series) ranges(m measure) (all [][2]float64) {
	if m.runs == nil {
		return nil
	}
	for i := range s.Points {
		if lo, hi, ok := m.runs(&s.Points[i]); ok {
			all = append(all, [2]float64{lo, hi})
		}
	}
	return all
}

// panel draws a measure of some series against the load. Its y axis is left to fitY.
func (s *Sweep) panel(m measure, which []int, width vg.Length) *plot.Plot {
	p := newPanel(m.title)
	p.Add(chart.Grid{Horizontal: true})
	for n, i := range which {
		series := &s.Series[i]
		measured := seriesTrace(n)
		if m.model != nil {
			predicted := modelTrace(n)
			predicted.XYs = series.values(m.model)
			p.Add(predicted)
		}
		measured.XYs, measured.Ranges = series.values(m.of), series.ranges(m)
		p.Add(measured)
		if knee := series.knee(s.Load); knee > 0 {
			p.Add(rule{At: knee, Vertical: true, Color: measured.Color, Text: "knee " + words.Digits3(knee), Row: n})
		}
	}
	s.loadAxis(p, width)
	return p
}

// knee is where the series' knee is on an axis of clients; 0 if it is not known.
func (s *Series) knee(load string) float64 {
	if load != "clients" || s.Model == nil || s.Model.KneeClients == nil {
		return 0
	}
	return *s.Model.KneeClients
}

// extent returns the least and the most of a measure, including the model and single runs; false if there are no
// values.
func (s *Sweep) extent(m measure) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for i := range s.Series {
		for _, of := range []func(*Point) (float64, bool){m.of, m.model} {
			if of == nil {
				continue
			}
			for _, at := range s.Series[i].values(of) {
				lo, hi = min(lo, at.Y), max(hi, at.Y)
			}
		}
		for _, r := range s.Series[i].ranges(m) {
			lo, hi = min(lo, r[0]), max(hi, r[1])
		}
	}
	return lo, hi, hi >= lo
}

// has reports whether a measure can be drawn against the load.
func (s *Sweep) has(m measure) bool {
	_, _, ok := s.extent(m)
	return ok && s.Load != ""
}

// fitY gives panels of a measure the same y axis.
func (s *Sweep) fitY(m measure, all ...*plot.Plot) {
	lo, hi, _ := s.extent(m)
	for _, p := range all {
		switch {
		case p == nil:
		case m.isLog:
			p.Y.Min, p.Y.Max = chart.FitLog(lo, hi)
			p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogTime{}
		default:
			p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, hi*1.15, chart.Even{Want: 5}
		}
	}
}

// legend explains the series of a picture.
func (s *Sweep) legend(which []int, name func(i int) string, model bool) []chart.Key {
	var keys []chart.Key
	for n, i := range which {
		keys = append(keys, chart.Key{Text: cmp.Or(name(i), "measured"), Thumb: seriesTrace(n)})
	}
	if model {
		keys = append(keys, chart.Key{Text: "predicted by the model", Thumb: trace{Color: chart.Grey, Line: dashed}})
	}
	if slices.ContainsFunc(which, func(i int) bool { return s.Series[i].knee(s.Load) > 0 }) {
		keys = append(keys, chart.Key{Text: "knee: more clients only wait", Thumb: rule{Color: chart.Grey}})
	}
	return keys
}

func (s *Sweep) seriesName(i int) string { return s.Series[i].Name }

func (s *Sweep) everySeries() []int {
	all := make([]int, len(s.Series))
	for i := range all {
		all[i] = i
	}
	return all
}

func (s *Sweep) modelled() bool {
	return slices.ContainsFunc(s.Series, func(x Series) bool { return x.Model != nil })
}

// loadFigure draws throughput and p99 above each other, against the load.
func (s *Sweep) loadFigure() chart.Figure {
	f := chart.Figure{Name: "load", Height: 520,
		Caption: "Throughput and the 99th percentile of the time to get the lock, against the load. Bars: lowest and " +
			"highest of the runs of a point. To the right of a knee, more clients add nothing but waiting."}
	if !s.has(throughputMeasure) {
		return f
	}
	all := s.everySeries()
	top := s.panel(throughputMeasure, all, chart.PictureWidth)
	s.fitY(throughputMeasure, top)
	rows := [][]*plot.Plot{{top}}
	if s.has(tailMeasure) {
		bottom := s.panel(tailMeasure, all, chart.PictureWidth)
		s.fitY(tailMeasure, bottom)
		top.X.Label.Text = ""
		rows = append(rows, []*plot.Plot{bottom})
	}
	f.Draw = panels{"Throughput and wait against " + s.Load, s.legend(all, s.seriesName, s.modelled()), rows}.Draw
	return f
}

// waitFigure draws the wait against the throughput.
func (s *Sweep) waitFigure() chart.Figure {
	f := chart.Figure{Name: "hockey-stick", Height: 360,
		Caption: "How long clients wait at each throughput. The lock is full where the line turns upwards; numbers are the " +
			"load. Dotted: the model’s highest throughput."}
	if !s.has(tailMeasure) {
		return f
	}
	p := chart.New("The wait at each throughput", "acquisitions per second", "p99 to get the lock (log scale)")
	p.Add(chart.Grid{Horizontal: true, Vertical: true})
	var most float64
	labels := pointLabels{Color: chart.Grey} // of all series together, so that none covers another
	for n := range s.Series {
		t := seriesTrace(n)
		for k := range s.Series[n].Points {
			point := &s.Series[n].Points[k]
			x, okX := throughputMeasure.of(point)
			y, okY := tailMeasure.of(point)
			if okX && okY {
				at := plotter.XY{X: x, Y: y}
				t.XYs = append(t.XYs, at)
				labels.Add(at, s.label(point.Load))
				most = max(most, x)
			}
		}
		p.Add(t)
		p.Explain(cmp.Or(s.Series[n].Name, "measured"), t)
		if m := s.Series[n].Model; m != nil && m.MostPerS != nil {
			p.Add(rule{At: *m.MostPerS, Vertical: true, Color: t.Color, Text: "at most " + words.Digits3(*m.MostPerS),
				Row: n, Bottom: true})
			if *m.MostPerS < 1.5*most {
				most = max(most, *m.MostPerS)
			}
		}
	}
	p.Add(labels)
	s.fitY(tailMeasure, p.Plot)
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, most*1.1, chart.Even{Want: 10}
	f.Draw = p.Draw
	return f
}

// The grid of small multiples.
const (
	panelColumns = 4
	panelHeight  = 170
)

// multiplesFigure draws a column of panels for each value of the second parameter.
func (s *Sweep) multiplesFigure() chart.Figure {
	f := chart.Figure{Name: "small-multiples"}
	by, values := s.second()
	if by == "" || !s.has(throughputMeasure) {
		return f
	}
	f.Caption = fmt.Sprintf("The same, a column for each %s, all with the same axes.", by)
	columns := min(len(values), panelColumns)
	width := chart.PictureWidth/vg.Length(columns) - 50
	measures := []measure{throughputMeasure}
	title := "Acquisitions per second, by " + by
	if s.has(tailMeasure) { // not if no run was long enough for a p99
		measures = append(measures, tailMeasure)
		title = "Acquisitions per second (above) and p99 to get the lock (below), by " + by
	}
	var rows [][]*plot.Plot
	var widest []int // the most series that a panel has
	for part := range slices.Chunk(values, columns) {
		for i, m := range measures {
			row := make([]*plot.Plot, columns)
			for k, value := range part {
				which := s.having(by, value)
				if len(which) > len(widest) {
					widest = which
				}
				row[k] = s.panel(m, which, width)
				row[k].Title.Text = ""
				if i == 0 {
					row[k].Title.Text, row[k].X.Label.Text = by+" "+value, ""
				}
			}
			s.fitY(m, row...)
			rows = append(rows, row)
		}
	}
	if len(widest) == 1 {
		widest = nil // the panels' titles say it all
	}
	keys := s.legend(widest, func(i int) string { return s.nameWithout(i, by) }, s.modelled())
	f.Height = chart.TitleRow + chart.LegendRow*vg.Length(chart.CountRows(keys)) + panelHeight*vg.Length(len(rows)) +
		3*chart.Margin
	f.Draw = panels{title, keys, rows}.Draw
	return f
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

// having returns the series with a value.
func (s *Sweep) having(key, value string) []int {
	return slices.DeleteFunc(s.everySeries(), func(i int) bool { return s.Series[i].Values[key] != value })
}
