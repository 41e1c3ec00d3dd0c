package sweep

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
)

// failoverFigure draws every sample of the failovers against the load, a panel for each kind of fault.
func (s *Sweep) failoverFigure() chart.Figure {
	f := chart.Figure{Name: "failover", Caption: "How long nobody got the lock after a fault. A dot is a failover, a " +
		"triangle one that took at least so long; the line joins the medians. Dashed: the least and, where theory has " +
		"one, the most that is predicted."}
	kinds := s.failoverKinds()
	if len(kinds) == 0 || s.Load == "" {
		return f
	}
	across := min(len(kinds), 2)
	drawn := chart.Panels{Title: "Failover against " + s.Load, Keys: s.failoverLegend(kinds)}
	for of := range slices.Chunk(kinds, across) {
		row := make([]*plot.Plot, across)
		for i, kind := range of {
			row[i] = s.failoverPanel(kind, chart.PictureWidth/vg.Length(across)-50)
		}
		drawn.Rows = append(drawn.Rows, row)
	}
	f.Height, f.Draw = drawn.Height(wideHeight), drawn.Draw
	return f
}

// failoverPanel draws the failovers after one kind of fault. The samples of several series stand beside each other.
func (s *Sweep) failoverPanel(of string, width vg.Length) *plot.Plot {
	p := chart.NewPanel("after " + of)
	p.Add(chart.Grid{Horizontal: true})
	for n := range s.Series {
		series := &s.Series[n]
		ended, cut, median := seriesTrace(n), seriesTrace(n), seriesTrace(n)
		least, most := modelTrace(n), modelTrace(n)
		ended.NoLine, cut.NoLine, median.Shape = true, true, nil
		ended.Shape, cut.Shape = draw.CircleGlyph{}, draw.PyramidGlyph{}
		for i := range series.Points {
			f := series.Points[i].failover(of)
			if f == nil {
				continue
			}
			at := series.Points[i].Load
			add := func(to *chart.Trace, all ...int64) {
				for _, ns := range all {
					to.XYs = append(to.XYs, plotter.XY{X: s.beside(at, n), Y: float64(ns) / 1e9})
				}
			}
			add(&ended, f.TookNs...)
			add(&cut, f.CensoredNs...)
			if f.P50Ns != nil {
				add(&median, *f.P50Ns)
			}
			if b := f.Predicted; b != nil {
				add(&least, b.FromNs)
				if b.ToNs != nil {
					add(&most, *b.ToNs)
				}
			}
		}
		for _, t := range []chart.Trace{least, most, median, ended, cut} {
			if len(t.XYs) > 0 {
				p.Add(t)
			}
		}
	}
	s.loadAxis(p, width)
	fitY(nil, p)
	p.Y.Label.Text = "seconds"
	return p
}

// beside is where the samples of the n-th series at a load are drawn, so that they do not cover those of the others.
func (s *Sweep) beside(load float64, n int) float64 {
	lo, hi := s.loadRange()
	share := (float64(n) - float64(len(s.Series)-1)/2) / 60 // of the axis
	if logarithmic(lo, hi) {
		return load * math.Pow(hi/lo, share)
	}
	return load + share*(hi-lo)
}

// loadRange returns the lowest and the highest load.
func (s *Sweep) loadRange() (lo, hi float64) {
	first := true
	for _, p := range s.points() {
		if first {
			lo, hi, first = p.Load, p.Load, false
		}
		lo, hi = min(lo, p.Load), max(hi, p.Load)
	}
	return lo, hi
}

// failoverLegend explains the series, and what is predicted of them.
func (s *Sweep) failoverLegend(kinds []string) (keys []chart.Key) {
	for n := range s.Series {
		t := seriesTrace(n)
		t.Shape = draw.CircleGlyph{}
		text := s.Series[n].Name
		if text == "" {
			text = "measured"
		}
		keys = append(keys, chart.Key{Text: text, Thumb: t})
	}
	for _, p := range s.points() {
		if slices.ContainsFunc(p.Failovers, func(f Failovers) bool { return f.Predicted != nil }) {
			return append(keys, chart.Key{Text: "predicted", Thumb: chart.Trace{Color: chart.Grey, Dashes: chart.Dashed}})
		}
	}
	return keys
}
