package reports

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"
)

// predictedFigure draws what was measured against what the models say.
func (s *Sweep) predictedFigure() figure {
	f := figure{Name: "predicted", Height: 420,
		Caption: "Each point of the sweep: what the model predicts, and what was measured. On the line they agree; the band is a gap of 25 %. Points beyond it are named, and the table says what is the likely cause. " +
			"Hollow points are those that the model was calibrated on."}
	p := newChart("Predicted and measured throughput", "predicted acquisitions per second (log scale)", "measured (log scale)")
	lo, hi := math.Inf(1), 0.0
	p.Add(agreement{})
	named := words{Color: vermillion} // of all series together, so that none is over another
	for n := range s.Series {
		clr, shape := look(n)
		var solid, hollow plotter.XYs
		for k := range s.Series[n].Points {
			point := &s.Series[n].Points[k]
			if point.Predicted == nil || point.AcquiredPerS == nil || *point.AcquiredPerS <= 0 || point.Predicted.AcquiredPerS <= 0 {
				continue
			}
			at := plotter.XY{X: point.Predicted.AcquiredPerS, Y: *point.AcquiredPerS}
			lo, hi = min(lo, at.X, at.Y), max(hi, at.X, at.Y)
			if point.Predicted.Calibrated {
				hollow = append(hollow, at)
			} else {
				solid = append(solid, at)
			}
			if math.Abs(at.Y/at.X-1) > gapLimit {
				named.add(at, s.Load+" "+s.label(point.Load))
			} else {
				named.Among = append(named.Among, at)
			}
		}
		marks := scatter{XYs: solid, Style: draw.GlyphStyle{Color: clr, Radius: 3, Shape: shape}}
		p.Add(marks, scatter{XYs: hollow, Style: draw.GlyphStyle{Color: clr, Radius: 3, Shape: draw.RingGlyph{}}})
		p.explain(or(s.Series[n].Name, "measured"), marks)
	}
	if hi == 0 {
		return f
	}
	p.Add(named)
	p.X.Min, p.X.Max = fitLog(lo, hi)
	p.Y.Min, p.Y.Max = p.X.Min, p.X.Max
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = logNumber{}, logNumber{}
	f.Draw = p.Draw
	return f
}

// uslFigure draws the scalability law through the points that it was fitted to.
func (s *Sweep) uslFigure() figure {
	f := figure{Name: "scalability", Height: 320,
		Caption: "Throughput by number of locks, and the Universal Scalability Law fitted to it; dashed as far as it answers for, twice the measured range."}
	p := newChart("How throughput grows with the number of locks", "locks", "acquisitions per second")
	p.Add(grid{Horizontal: true})
	top, to := 0.0, 0.0
	for n := range s.Series {
		u := s.Series[n].USL
		if u == nil {
			continue
		}
		clr, shape := look(n)
		t := trace{XYs: traceOf(&s.Series[n], throughputMeasure.of), Color: clr, Shape: shape}
		var curve plotter.XYs
		for k := range 121 {
			x := max(u.From, 1) * math.Pow(2*u.To/max(u.From, 1), float64(k)/120)
			y := u.law().At(x)
			curve = append(curve, plotter.XY{X: x, Y: y})
			top = max(top, y)
		}
		for _, at := range t.XYs {
			top = max(top, at.Y)
		}
		to = max(to, 2*u.To)
		law, measured := trace{XYs: curve, Color: clr, Dashed: true}, scatter{XYs: t.XYs, Style: draw.GlyphStyle{Color: clr, Radius: 3, Shape: shape}}
		p.Add(law, measured)
		p.explain(or(s.Series[n].Name, "measured"), measured)
		p.explain(fmt.Sprintf("scalability law (σ %s, κ %s, R² %s)", digits3(u.Sigma), digits3(u.Kappa), u.r2()), law)
	}
	if to == 0 {
		return f
	}
	s.loadAxis(p.Plot, pictureWidth)
	p.X.Max = to * 1.05
	p.Y.Min, p.Y.Max, p.Y.Tick.Marker = 0, top*1.15, even{Want: 5}
	f.Draw = p.Draw
	return f
}
