package sweep

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/capacity"
	"locklab/reports/chart"
	"locklab/reports/words"
)

// predictedFigure draws what was measured against what the models say.
func (s *Sweep) predictedFigure() chart.Figure {
	f := chart.Figure{Name: "predicted", Height: 420,
		Caption: "Each point of the sweep: what the model predicts, and what was measured. They agree on the line; the " +
			"band is a gap of 25 %. Points outside it are labelled, and the table names the likely cause. The model " +
			"was calibrated on the hollow points."}
	p := chart.New("Predicted and measured throughput", "predicted acquisitions per second (log scale)",
		"measured (log scale)")
	lo, hi := math.Inf(1), 0.0
	p.Add(agreement{})
	labels := pointLabels{Color: chart.Vermillion} // of all series together, so that none covers another
	for n := range s.Series {
		others := seriesTrace(n)
		others.Line = noLine
		calibrated := others
		calibrated.Shape = draw.RingGlyph{}
		for k := range s.Series[n].Points {
			point := &s.Series[n].Points[k]
			x, okX := throughputMeasure.model(point)
			y, okY := throughputMeasure.of(point)
			if !okX || !okY || x <= 0 || y <= 0 {
				continue
			}
			at := plotter.XY{X: x, Y: y}
			lo, hi = min(lo, x, y), max(hi, x, y)
			if point.Predicted.Calibrated {
				calibrated.XYs = append(calibrated.XYs, at)
			} else {
				others.XYs = append(others.XYs, at)
			}
			if math.Abs(y/x-1) > gapLimit {
				labels.Add(at, s.Load+" "+s.label(point.Load))
			} else {
				labels.Unlabelled = append(labels.Unlabelled, at)
			}
		}
		p.Add(others, calibrated)
		p.Explain(cmp.Or(s.Series[n].Name, "measured"), others)
	}
	if hi == 0 {
		return f
	}
	p.Add(labels)
	p.X.Min, p.X.Max = chart.FitLog(lo, hi)
	p.Y.Min, p.Y.Max = p.X.Min, p.X.Max
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = logNumber{}, logNumber{}
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
	highest, furthest := 0.0, 0.0
	for n := range s.Series {
		u := s.Series[n].USL
		if u == nil {
			continue
		}
		measured, law := seriesTrace(n), modelTrace(n)
		measured.Line, measured.XYs = noLine, s.Series[n].values(throughputMeasure.of)
		from, to := max(u.From, 1), capacity.Reach*u.To
		for k := range 121 {
			x := from * math.Pow(to/from, float64(k)/120)
			law.XYs = append(law.XYs, plotter.XY{X: x, Y: u.law().At(x)})
		}
		for _, t := range []trace{law, measured} {
			for _, at := range t.XYs {
				highest, furthest = max(highest, at.Y), max(furthest, at.X)
			}
		}
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
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, highest*1.15, chart.Even{Want: 5}
	f.Draw = p.Draw
	return f
}
