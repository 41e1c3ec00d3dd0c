package sweep

import (
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/capacity"
	"locklab/reports/chart"
	"locklab/reports/words"
)

// searchFigure draws how the searches found their limits.
func (s *Sweep) searchFigure() chart.Figure {
	f := chart.Figure{Name: "search", Caption: "Each probe of a rate, in the order in which they were made: a dot if it " +
		"held, a cross if it did not, a ring if the probe was undecided or void. Dotted: the highest rate that held."}
	drawn := chart.Panels{Title: "The search for the highest rate with " + s.Saturate}
	var all []*plot.Plot
	for series, point := range s.points() {
		if point.Limit != nil && len(point.Limit.Probes) > 0 {
			all = append(all, probesPanel(s.pointName(series, point), point.Limit))
		}
	}
	if len(all) == 0 {
		return f
	}
	fitY(chart.LogNumber{}, all...)
	for part := range slices.Chunk(all, min(len(all), panelColumns)) {
		drawn.Rows = append(drawn.Rows, append(part, make([]*plot.Plot, min(len(all), panelColumns)-len(part))...))
	}
	f.Height, f.Draw = drawn.Height(220), drawn.Draw
	return f
}

// probesPanel draws the probes of one search.
func probesPanel(title string, l *capacity.Limit) *plot.Plot {
	held := chart.Trace{Color: chart.Blue, NoLine: true, Shape: draw.CircleGlyph{}}
	failed := chart.Trace{Color: chart.Vermillion, NoLine: true, Shape: chart.CrossGlyph{}}
	undecided := chart.Trace{Color: chart.Grey, NoLine: true, Shape: draw.RingGlyph{}}
	for n, probe := range l.Probes {
		of := &failed
		switch probe.Reason {
		case capacity.Holds:
			of = &held
		case capacity.Undecided, capacity.Void:
			of = &undecided
		}
		of.XYs = append(of.XYs, plotter.XY{X: float64(n + 1), Y: probe.Rate})
	}
	p := chart.NewPanel(title)
	p.Add(chart.Grid{Horizontal: true}, held, failed, undecided)
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, float64(len(l.Probes)+1), chart.Even{Whole: true, Want: 5}
	p.X.Label.Text = "probe"
	if l.LastPass != nil {
		p.Title.Text += ": " + words.Digits3(*l.LastPass) + " a second"
		p.Add(chart.Trace{Color: chart.Blue, Dashes: chart.Dotted,
			XYs: plotter.XYs{{X: 0, Y: *l.LastPass}, {X: p.X.Max, Y: *l.LastPass}}})
	}
	return p
}
