package sweep

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/capacity"
	"locklab/reports/chart"
	"locklab/reports/words"
)

// limitsFigure draws the limits that searches found against the load.
func (s *Sweep) limitsFigure() chart.Figure {
	f := chart.Figure{Name: "limits", Height: 320, Caption: "The highest rate of arrivals within the limit, by search."}
	if !s.has(limitMeasure) {
		return f
	}
	all := s.everySeries()
	p := s.panel(limitMeasure, all, chart.PictureWidth)
	s.fitY(limitMeasure, p)
	f.Draw = panels{"Highest rate with " + s.Saturate, s.legend(all, s.seriesName, false), [][]*plot.Plot{{p}}}.Draw
	return f
}

// searchFigure draws how the searches found their limits.
func (s *Sweep) searchFigure() chart.Figure {
	f := chart.Figure{Name: "search", Caption: "Each probe of a rate, in the order in which they were made: a dot if it " +
		"held, a cross if it did not, a ring if the probe was undecided. Dotted: the highest rate that held."}
	var all []*plot.Plot
	lo, hi := math.Inf(1), 0.0
	for series, point := range s.points() {
		if point.Limit == nil || len(point.Limit.Probes) == 0 {
			continue
		}
		all = append(all, probesPanel(s.pointName(series, point), point.Limit))
		for _, probe := range point.Limit.Probes {
			lo, hi = min(lo, probe.Rate), max(hi, probe.Rate)
		}
	}
	if len(all) == 0 {
		return f
	}
	lo, hi = chart.FitLog(lo, hi)
	for _, p := range all {
		p.Y.Min, p.Y.Max, p.Y.Scale, p.Y.Tick.Marker = lo, hi, plot.LogScale{}, logNumber{}
	}
	rows := grid(all)
	f.Height = chart.TitleRow + 220*vg.Length(len(rows)) + 3*chart.Margin
	f.Draw = panels{"The search for the highest rate with " + s.Saturate, nil, rows}.Draw
	return f
}

// probesPanel draws the probes of one search.
func probesPanel(title string, l *capacity.Limit) *plot.Plot {
	held := trace{Color: chart.Blue, Line: noLine, Shape: draw.CircleGlyph{}}
	failed := chart.Crosses{Color: chart.Vermillion}
	undecided := trace{Color: chart.Grey, Line: noLine, Shape: draw.RingGlyph{}}
	for n, probe := range l.Probes {
		at := plotter.XY{X: float64(n + 1), Y: probe.Rate}
		switch probe.Reason {
		case capacity.Holds:
			held.XYs = append(held.XYs, at)
		case capacity.Undecided:
			undecided.XYs = append(undecided.XYs, at)
		default:
			failed.XYs = append(failed.XYs, at)
		}
	}
	if l.LastPass != nil {
		title += ": " + words.Digits3(*l.LastPass) + " a second"
	}
	p := newPanel(title)
	p.Add(chart.Grid{Horizontal: true}, held, failed, undecided)
	if l.LastPass != nil {
		p.Add(rule{At: *l.LastPass, Color: chart.Blue})
	}
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, float64(len(l.Probes)+1), chart.Even{Whole: true, Want: 5}
	p.X.Label.Text = "probe"
	return p
}
