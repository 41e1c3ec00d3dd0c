package runpage

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
	"locklab/reports/words"
)

// A heat is a plotter of how many points there are in each cell of a grid, the more the stronger. The rows are of equal
// height on a logarithmic axis.
type heat struct {
	counts [heatColumns][heatRows]int64
	most   int64
	xys    plotter.XYs
}

// The grid, and how many levels of strength it has.
const (
	heatColumns = 60
	heatRows    = 24
	heatLevels  = 4
)

// heatFrom is the number of points from which on a heat map says more than points.
const heatFrom = 500

// newHeat counts the points in a grid over the axes' ranges.
func newHeat(xys plotter.XYs, x, y plot.Axis) *heat {
	h := &heat{xys: xys}
	for _, at := range xys {
		column := int(float64(heatColumns) * (at.X - x.Min) / (x.Max - x.Min))
		row := int(float64(heatRows) * math.Log(at.Y/y.Min) / math.Log(y.Max/y.Min))
		column, row = min(max(column, 0), heatColumns-1), min(max(row, 0), heatRows-1)
		h.counts[column][row]++
		h.most = max(h.most, h.counts[column][row])
	}
	return h
}

// level is the level of a count, from 0 to heatLevels-1, on a logarithmic scale.
func (h *heat) level(n int64) int {
	return min(int(heatLevels*math.Log(float64(n))/math.Log(float64(h.most)+1)), heatLevels-1)
}

// strength is how strongly a level is drawn.
func strength(level int) float64 { return 0.2 + 0.8*float64(level)/(heatLevels-1) }

// Plot implements plot.Plotter.
func (h *heat) Plot(c draw.Canvas, _ *plot.Plot) {
	width, height := (c.Max.X-c.Min.X)/heatColumns, (c.Max.Y-c.Min.Y)/heatRows
	for i := range h.counts {
		for k, n := range h.counts[i] {
			if n > 0 {
				x, y := c.Min.X+vg.Length(i)*width, c.Min.Y+vg.Length(k)*height
				chart.FillRect(&c, x, x+width, y, y+height, chart.Tint(chart.Blue, strength(h.level(n))))
			}
		}
	}
}

// explain adds the levels to the legend.
func (h *heat) explain(p *chart.Chart, what string) {
	from := int64(1)
	for level := range heatLevels {
		to := from
		for to < h.most && h.level(to+1) <= level {
			to++
		}
		if from > h.most || h.level(from) != level {
			continue
		}
		text := words.Grouped(from)
		if to > from {
			text += " to " + words.Grouped(to)
		}
		if level == 0 {
			text = fmt.Sprintf("%s, in a cell: %s", what, text)
		}
		p.Explain(text, chart.Swatch{Color: chart.Tint(chart.Blue, strength(level))})
		from = to + 1
	}
}
