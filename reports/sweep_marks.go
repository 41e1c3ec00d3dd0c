package reports

import (
	"fmt"
	"image/color"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/capacity"
)

// r2 is R² for a person.
func (u *SweepUSL) r2() string {
	if u.R2 == nil {
		return absent
	}
	return fmt.Sprintf("%.3f", *u.R2)
}

func (u *SweepUSL) law() capacity.USL {
	return capacity.USL{Lambda: u.Lambda, Sigma: u.Sigma, Kappa: u.Kappa}
}

// scatter draws points as glyphs.
type scatter struct {
	plotter.XYs
	Style draw.GlyphStyle
}

// Plot implements plot.Plotter.
func (s scatter) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, at := range s.XYs {
		if pt := (vg.Point{X: x(at.X), Y: y(at.Y)}); c.Contains(pt) {
			c.DrawGlyph(s.Style, pt)
		}
	}
}

// Thumbnail implements plot.Thumbnailer.
func (s scatter) Thumbnail(c *draw.Canvas) { c.DrawGlyph(s.Style, c.Center()) }

// agreement is the line on which x and y agree, and the band of a gap that is not called out.
type agreement struct{}

// Plot implements plot.Plotter.
func (agreement) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	lo, hi := p.X.Min, p.X.Max
	edge := func(share float64) (a, b vg.Point) {
		return vg.Point{X: x(lo), Y: y(lo * share)}, vg.Point{X: x(hi), Y: y(hi * share)}
	}
	a, b := edge(1 - gapLimit)
	d, e := edge(1 + gapLimit)
	c.FillPolygon(color.NRGBA{0xee, 0xf3, 0xf8, 0xff}, c.ClipPolygonXY([]vg.Point{a, b, e, d}))
	a, b = edge(1)
	c.StrokeLines(draw.LineStyle{Color: grey, Width: 0.8}, c.ClipLinesXY([]vg.Point{a, b})...)
}

// logNumber is a logarithmic axis of plain numbers, with labels at 1, 2 and 5.
type logNumber struct{}

// Ticks implements plot.Ticker.
func (logNumber) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || m == 2 || m == 5 {
				t.Label = strconv.FormatFloat(v, 'g', 6, 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// limitsFigure draws the limits that searches found against the load.
func (s *Sweep) limitsFigure() figure {
	f := figure{Name: "limits", Height: 320, Caption: "The highest rate of arrivals that keeps to the limit, by search."}
	if _, _, ok := s.extent(limitMeasure); !ok || s.Load == "" {
		return f
	}
	all := s.everySeries()
	p := s.panel(limitMeasure, all, pictureWidth)
	s.fitY(limitMeasure, p)
	f.Draw = panels{"Highest rate with " + s.Saturate, s.legend(all, false), [][]*plot.Plot{{p}}}.Draw
	return f
}

// searchFigure draws how the searches came to their limits.
func (s *Sweep) searchFigure() figure {
	f := figure{Name: "search", Caption: "Each probe of a rate, in the order in which they were made: a dot if it held, a cross if it did not, a ring if it said nothing. Dotted: the highest rate that held."}
	var all []*plot.Plot
	lo, hi := math.Inf(1), 0.0
	for i := range s.Series {
		for k := range s.Series[i].Points {
			if l := s.Series[i].Points[k].Limit; l != nil && len(l.Probes) > 0 {
				p := newPanel(s.pointName(&s.Series[i], &s.Series[i].Points[k]))
				all = append(all, p)
				var passes, fails, rest plotter.XYs
				for n, probe := range l.Probes {
					at := plotter.XY{X: float64(n + 1), Y: probe.Rate}
					lo, hi = min(lo, at.Y), max(hi, at.Y)
					switch probe.Reason {
					case capacity.Holds:
						passes = append(passes, at)
					case capacity.Undecided:
						rest = append(rest, at)
					default:
						fails = append(fails, at)
					}
				}
				p.Add(grid{Horizontal: true}, scatter{passes, draw.GlyphStyle{Color: blue, Radius: 2.5, Shape: draw.CircleGlyph{}}}, crosses{fails, vermillion}, scatter{rest, draw.GlyphStyle{Color: grey, Radius: 3, Shape: draw.RingGlyph{}}})
				if l.LastPass != nil {
					p.Add(rule{At: *l.LastPass, Color: blue})
					p.Title.Text += ": " + digits3(*l.LastPass) + " a second"
				}
				p.X.Min, p.X.Max, p.X.Tick.Marker = 0, float64(len(l.Probes)+1), even{Whole: true, Want: 5}
				p.X.Label.Text = "probe"
			}
		}
	}
	if len(all) == 0 {
		return f
	}
	columns := min(len(all), panelColumns)
	var rows [][]*plot.Plot
	for len(all) > 0 {
		row := make([]*plot.Plot, columns)
		n := copy(row, all)
		all = all[n:]
		rows = append(rows, row)
	}
	lo, hi = fitLog(lo, hi)
	for _, row := range rows {
		for _, p := range row {
			if p != nil {
				p.Y.Min, p.Y.Max, p.Y.Scale, p.Y.Tick.Marker = lo, hi, plot.LogScale{}, logNumber{}
			}
		}
	}
	f.Height = titleRow + 220*vg.Length(len(rows)) + 3*margin
	f.Draw = panels{"The search for the highest rate with " + s.Saturate, nil, rows}.Draw
	return f
}

// pointName names a point by its series and its load.
func (s *Sweep) pointName(series *SweepSeries, p *SweepPoint) string {
	name := series.Name
	if s.Load != "" {
		if name != "" {
			name += ", "
		}
		name += s.Load + " " + s.label(p.Load)
	}
	return or(name, s.Scenario)
}
