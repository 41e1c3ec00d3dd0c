package reports

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// figures are a sweep's pictures, in the order of its page.
func (s *Sweep) figures() []figure {
	all := []figure{s.limitsFigure(), s.searchFigure(), s.loadFigure(), s.hockeyFigure(), s.multiplesFigure(), s.predictedFigure(), s.uslFigure()}
	return slices.DeleteFunc(all, func(f figure) bool { return f.Draw == nil && f.Absent == "" })
}

// A measure is what a picture has upwards.
type measure struct {
	title string
	of    func(p *SweepPoint) (float64, bool)
	model func(p *SweepPoint) (float64, bool) // nil = none
	// runs is the lowest and the highest of the runs; nil = not shown.
	runs  func(p *SweepPoint) (lo, hi float64, ok bool)
	isLog bool
}

func known[T int64 | float64](v *T, scale float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return float64(*v) * scale, true
}

var (
	throughputMeasure = measure{title: "acquisitions per second", of: func(p *SweepPoint) (float64, bool) { return known(p.AcquiredPerS, 1) },
		model: func(p *SweepPoint) (float64, bool) {
			if p.Predicted == nil {
				return 0, false
			}
			return p.Predicted.AcquiredPerS, true
		},
		runs: func(p *SweepPoint) (lo, hi float64, ok bool) {
			if p.AcquiredPerS == nil || p.AcquiredPerSMin == nil || p.AcquiredPerSMax == nil {
				return 0, 0, false
			}
			return *p.AcquiredPerSMin, *p.AcquiredPerSMax, true
		}}
	tailMeasure  = measure{title: "p99 of the time to get the lock (log scale)", isLog: true, of: tailOf}
	limitMeasure = measure{title: "highest rate that holds, per second", of: func(p *SweepPoint) (float64, bool) {
		if p.Limit == nil {
			return 0, false
		}
		return known(p.Limit.LastPass, 1)
	}}
)

func tailOf(p *SweepPoint) (float64, bool) {
	v, ok := known(p.AcquireP99Ns, 1e-6)
	return max(v, floor), ok
}

// traceOf collects a measure over a series.
func traceOf(series *SweepSeries, of func(p *SweepPoint) (float64, bool)) plotter.XYs {
	var at plotter.XYs
	for i := range series.Points {
		if v, ok := of(&series.Points[i]); ok {
			at = append(at, plotter.XY{X: series.Points[i].Load, Y: v})
		}
	}
	return at
}

// rangesOf collects how far a series' runs are apart, where a measure shows that.
func rangesOf(series *SweepSeries, m measure) (all [][2]float64) {
	if m.runs == nil {
		return nil
	}
	for i := range series.Points {
		if lo, hi, ok := m.runs(&series.Points[i]); ok {
			all = append(all, [2]float64{lo, hi})
		}
	}
	return all
}

// panel draws a measure of some series against the load. Its y axis is left to fit.
func (s *Sweep) panel(m measure, which []int, width vg.Length) *plot.Plot {
	p := newPanel(m.title)
	p.Add(grid{Horizontal: true})
	for n, i := range which {
		series := &s.Series[i]
		clr, shape := look(n)
		if m.model != nil {
			p.Add(trace{XYs: traceOf(series, m.model), Color: clr, Dashed: true})
		}
		p.Add(trace{XYs: traceOf(series, m.of), Color: clr, Shape: shape, Ranges: rangesOf(series, m)})
		if knee := series.knee(s.Load); knee > 0 {
			p.Add(rule{At: knee, Vertical: true, Color: clr, Text: "knee " + digits3(knee), Low: n})
		}
	}
	s.loadAxis(p, width)
	return p
}

// knee is where the series' knee is on an axis of clients; 0 if it is not known.
func (s *SweepSeries) knee(load string) float64 {
	if load != "clients" || s.Model == nil || s.Model.KneeClients == nil {
		return 0
	}
	return *s.Model.KneeClients
}

// extent returns the least and the most of a measure, of the model and of single runs too; false if there is none.
func (s *Sweep) extent(m measure) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for i := range s.Series {
		for _, of := range []func(*SweepPoint) (float64, bool){m.of, m.model} {
			if of == nil {
				continue
			}
			for _, at := range traceOf(&s.Series[i], of) {
				lo, hi = min(lo, at.Y), max(hi, at.Y)
			}
		}
		for _, r := range rangesOf(&s.Series[i], m) {
			lo, hi = min(lo, r[0]), max(hi, r[1])
		}
	}
	return lo, hi, hi >= lo
}

// fitY gives panels of a measure one y axis.
func (s *Sweep) fitY(m measure, all ...*plot.Plot) {
	lo, hi, _ := s.extent(m)
	for _, p := range all {
		if p == nil {
			continue
		}
		if m.isLog {
			p.Y.Min, p.Y.Max = fitLog(lo, hi)
			p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTime{}
			continue
		}
		p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, hi*1.15, even{Want: 5}
	}
}

// legend explains the series of a picture.
func (s *Sweep) legend(which []int, model bool) []key {
	var keys []key
	for n, i := range which {
		clr, shape := look(n)
		keys = append(keys, key{or(s.Series[i].Name, "measured"), trace{Color: clr, Shape: shape}})
	}
	if model {
		keys = append(keys, key{"predicted by the model", trace{Color: grey, Dashed: true}})
	}
	if slices.ContainsFunc(which, func(i int) bool { return s.Series[i].knee(s.Load) > 0 }) {
		keys = append(keys, key{"knee: more clients only wait", rule{Color: grey}})
	}
	return keys
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func (s *Sweep) everySeries() []int {
	all := make([]int, len(s.Series))
	for i := range all {
		all[i] = i
	}
	return all
}

func (s *Sweep) modelled() bool {
	return slices.ContainsFunc(s.Series, func(x SweepSeries) bool { return x.Model != nil })
}

// loadFigure draws throughput and p99 above each other, against the load.
func (s *Sweep) loadFigure() figure {
	f := figure{Name: "load", Height: 520,
		Caption: "Throughput and the 99th percentile of the time to get the lock, against the load. Bars: lowest and highest of the runs of a point. " +
			"To the right of a knee more clients add nothing but waiting."}
	if _, _, ok := s.extent(throughputMeasure); !ok || s.Load == "" {
		return f
	}
	all := s.everySeries()
	top := s.panel(throughputMeasure, all, pictureWidth)
	s.fitY(throughputMeasure, top)
	rows := [][]*plot.Plot{{top}}
	if _, _, ok := s.extent(tailMeasure); ok {
		bottom := s.panel(tailMeasure, all, pictureWidth)
		s.fitY(tailMeasure, bottom)
		top.X.Label.Text = ""
		rows = append(rows, []*plot.Plot{bottom})
	}
	f.Draw = panels{"Throughput and wait against " + s.Load, s.legend(all, s.modelled()), rows}.Draw
	return f
}

// hockeyFigure draws the wait against the throughput that it buys.
func (s *Sweep) hockeyFigure() figure {
	f := figure{Name: "hockey-stick", Height: 360,
		Caption: "What a throughput costs in waiting. Where the line turns upwards the lock is full; numbers are the load. Dotted: the model’s highest throughput."}
	if _, _, ok := s.extent(tailMeasure); !ok || s.Load == "" {
		return f
	}
	p := newChart("The wait at each throughput", "acquisitions per second", "p99 to get the lock (log scale)")
	p.Add(grid{Horizontal: true, Vertical: true})
	var most float64
	all := words{Color: grey} // together, so that none is over another
	for n := range s.Series {
		clr, shape := look(n)
		var at plotter.XYs
		for k := range s.Series[n].Points {
			point := &s.Series[n].Points[k]
			y, okY := tailOf(point)
			if x, okX := known(point.AcquiredPerS, 1); okX && okY {
				here := plotter.XY{X: x, Y: y}
				at = append(at, here)
				all.add(here, s.label(point.Load))
				most = max(most, x)
			}
		}
		t := trace{XYs: at, Color: clr, Shape: shape}
		p.Add(t)
		p.explain(or(s.Series[n].Name, "measured"), t)
		if m := s.Series[n].Model; m != nil && m.MostPerS != nil {
			p.Add(rule{At: *m.MostPerS, Vertical: true, Color: clr, Text: "at most " + digits3(*m.MostPerS), Low: n, Bottom: true})
			if *m.MostPerS < 1.5*most {
				most = max(most, *m.MostPerS)
			}
		}
	}
	p.Add(all)
	lo, hi, _ := s.extent(tailMeasure)
	p.Y.Min, p.Y.Max = fitLog(lo, hi)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, logTime{}
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, most*1.1, even{Want: 10}
	f.Draw = p.Draw
	return f
}

// The grid of small multiples.
const (
	panelColumns = 4
	panelHeight  = 170
)

// multiplesFigure draws a column of panels for each value of the second parameter.
func (s *Sweep) multiplesFigure() figure {
	f := figure{Name: "small-multiples", Caption: "The same, a column for each value, all with the same axes."}
	by, values := s.second()
	if _, _, ok := s.extent(throughputMeasure); !ok || by == "" {
		return f
	}
	f.Caption = fmt.Sprintf("The same, a column for each %s, all with the same axes.", by)
	columns := min(len(values), panelColumns)
	width := pictureWidth/vg.Length(columns) - 50
	_, _, tails := s.extent(tailMeasure) // none if no run was long enough for a p99
	var rows [][]*plot.Plot
	var widest []int
	for from := 0; from < len(values); from += columns {
		above, below := make([]*plot.Plot, columns), make([]*plot.Plot, columns)
		for k := range min(columns, len(values)-from) {
			which := s.having(by, values[from+k])
			if len(which) > len(widest) {
				widest = which
			}
			above[k], below[k] = s.panel(throughputMeasure, which, width), s.panel(tailMeasure, which, width)
			above[k].Title.Text, below[k].Title.Text = by+" "+values[from+k], ""
			above[k].X.Label.Text = ""
		}
		s.fitY(throughputMeasure, above...)
		rows = append(rows, above)
		if tails {
			s.fitY(tailMeasure, below...)
			rows = append(rows, below)
		}
	}
	var entries []key
	if len(widest) > 1 {
		for n, i := range widest {
			clr, shape := look(n)
			entries = append(entries, key{s.nameWithout(i, by), trace{Color: clr, Shape: shape}})
		}
	}
	if s.modelled() {
		entries = append(entries, key{"predicted by the model", trace{Color: grey, Dashed: true}})
	}
	f.Height = titleRow + legendRow*vg.Length(countRows(entries)) + panelHeight*vg.Length(len(rows)) + 3*margin
	title := "Acquisitions per second (above) and p99 to get the lock (below), by " + by
	if !tails {
		title = "Acquisitions per second, by " + by
	}
	f.Draw = panels{title, entries, rows}.Draw
	return f
}

// second returns the parameter besides the load that has the most values in the series, and these.
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
	var which []int
	for i := range s.Series {
		if s.Series[i].Values[key] == value {
			which = append(which, i)
		}
	}
	return which
}

func (s *Sweep) nameWithout(i int, key string) string {
	values := map[string]string{}
	for k, v := range s.Series[i].Values {
		if k != key {
			values[k] = v
		}
	}
	return s.name(values)
}
