package sweep

import (
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/capacity"
	"locklab/reports/chart"
	"locklab/reports/words"
)

// quantiles are what the picture of a search shows of each window.
var quantiles = []struct {
	name  string
	color color.NRGBA
	of    func(capacity.Quantiles) *int64
}{
	{"p50", chart.Blue, func(q capacity.Quantiles) *int64 { return q.P50Ns }},
	{"p99", chart.Green, func(q capacity.Quantiles) *int64 { return q.P99Ns }},
	{"p99.9", chart.Purple, func(q capacity.Quantiles) *int64 { return q.P999Ns }},
}

// windowShapes are how the picture marks the windows of a search.
var windowShapes = []struct {
	name  string
	shape draw.GlyphDrawer
	is    func(capacity.Trial) bool
}{
	{"full window", draw.CircleGlyph{}, func(t capacity.Trial) bool { return t.Kind == capacity.Full && !void(t) }},
	{"short window", draw.RingGlyph{}, func(t capacity.Trial) bool { return t.Kind == capacity.Short && !void(t) }},
	{"void: the load side was the limit", chart.CrossGlyph{}, func(t capacity.Trial) bool {
		return (t.Kind == capacity.Full || t.Kind == capacity.Short) && void(t)
	}},
	{"one server away", draw.TriangleGlyph{}, func(t capacity.Trial) bool { return t.Kind == capacity.Away }},
}

func void(t capacity.Trial) bool { return t.Reason == capacity.Void || t.Reason == capacity.Undecided }

// searchFigure draws the time to get the lock against what was searched for, a point for each window.
func (s *Sweep) searchFigure() chart.Figure {
	f := chart.Figure{Name: "search", Caption: "The time to get the lock against the " + s.Over + ": p50, p99 and " +
		"p99.9, a point for each window. Dashed: the bound. Dotted: the answer. Windows with a disturbance are left out."}
	drawn := chart.Panels{Title: "The time to get the lock against the " + s.Over}
	var all []*plot.Plot
	seen := map[int]bool{}
	for series, point := range s.points() {
		if point.Limit != nil {
			if p := s.windowsPanel(s.pointName(series, point), point.Limit, seen); p != nil {
				all = append(all, p)
			}
		}
	}
	if len(all) == 0 {
		return f
	}
	fitY(chart.LogTime{}, all...)
	for _, q := range quantiles {
		drawn.Keys = append(drawn.Keys, chart.Key{Text: q.name, Thumb: chart.Swatch{Color: q.color}})
	}
	for i, w := range windowShapes {
		if seen[i] {
			drawn.Keys = append(drawn.Keys, chart.Key{Text: w.name,
				Thumb: chart.Trace{Color: chart.Grey, NoLine: true, Shape: w.shape}})
		}
	}
	across := min(len(all), panelColumns/2)
	for part := range slices.Chunk(all, across) {
		drawn.Rows = append(drawn.Rows, append(part, make([]*plot.Plot, across-len(part))...))
	}
	f.Height, f.Draw = drawn.Height(300), drawn.Draw
	return f
}

// windowsPanel draws the windows of one search, and notes which shapes it has; nil if no window has a latency.
func (s *Sweep) windowsPanel(title string, l *capacity.Limit, seen map[int]bool) *plot.Plot {
	p := chart.NewPanel(title)
	p.Add(chart.Grid{Horizontal: true, Vertical: true})
	var levels []float64
	for _, q := range quantiles {
		for i, w := range windowShapes {
			at := chart.Trace{Color: q.color, NoLine: true, Shape: w.shape}
			for _, t := range l.Trials {
				if ns := q.of(t.Latency); ns != nil && w.is(t) {
					at.XYs = append(at.XYs, plotter.XY{X: t.Level, Y: chart.Millis(*ns)})
					levels = append(levels, t.Level)
					seen[i] = true
				}
			}
			if len(at.XYs) > 0 {
				p.Add(at)
			}
		}
	}
	if len(levels) == 0 {
		return nil
	}
	lo, hi := slices.Min(levels), slices.Max(levels)
	p.X.Label.Text = s.Over
	if s.Over == "rate" {
		p.X.Label.Text = "arrivals per second"
	}
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, hi*1.05, chart.Even{Want: 8}
	if logarithmic(lo, hi) {
		p.X.Min, p.X.Max = chart.FitLog(lo, hi)
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, chart.LogNumber{}
	}
	for _, bound := range s.BoundsNs {
		y := chart.Millis(int64(bound))
		p.Add(chart.Trace{Color: chart.Black, Dashes: chart.Dashed, XYs: plotter.XYs{{X: p.X.Min, Y: y}, {X: p.X.Max, Y: y}}})
	}
	if l.Lower != nil {
		p.Add(chart.Rule{At: *l.Lower, Color: chart.Black, Text: "answer " + words.Digits3(*l.Lower), Bottom: true})
	}
	return p
}
