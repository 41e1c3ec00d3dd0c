package sweep

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
)

// logFrom is the ratio of the highest load to the lowest from which on their axis is logarithmic.
const logFrom = 8

// loadAxis makes x an axis of the load, with the measured loads as its ticks. A label that would run into the one
// before is left out.
func (s *Sweep) loadAxis(p *plot.Plot, width vg.Length) {
	var loads []float64
	for _, point := range s.points() {
		loads = append(loads, point.Load)
	}
	slices.Sort(loads)
	loads = slices.Compact(loads)
	lo, hi := loads[0], loads[len(loads)-1]
	share := func(v float64) float64 { return (v - lo) / max(hi-lo, 1e-12) } // of the axis
	switch {
	case lo > 0 && hi/lo >= logFrom:
		p.X.Scale = plot.LogScale{}
		share = func(v float64) float64 { return math.Log(v/lo) / math.Log(hi/lo) }
		margin := math.Pow(hi/lo, 0.04)
		p.X.Min, p.X.Max = lo/margin, hi*margin
	case hi > lo:
		p.X.Min, p.X.Max = lo-0.04*(hi-lo), hi+0.04*(hi-lo)
	default:
		p.X.Min, p.X.Max = lo-1, lo+1
	}
	var ticks plot.ConstantTicks
	style := chart.TextStyle(chart.TextSize, chart.Black)
	end := vg.Length(math.Inf(-1)) // of the last label
	for _, v := range loads {
		t := plot.Tick{Value: v}
		label := s.label(v)
		half := style.Width(label) / 2
		if x := vg.Length(share(v)) * width; x-half > end {
			t.Label, end = label, x+half+5
		}
		ticks = append(ticks, t)
	}
	p.X.Tick.Marker = ticks
	p.X.Label.Text = s.Load
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

// newPanel is one plot of several in a picture, with its title above it.
func newPanel(title string) *plot.Plot {
	p := chart.New("", "", "").Plot
	p.Title.Text = title
	p.Title.TextStyle.Font = chart.Sans(chart.TextSize)
	p.Title.Padding = 3
	return p
}

// panels is a picture of several plots whose axes are aligned, below one title and one legend.
type panels struct {
	title string
	keys  []chart.Key
	rows  [][]*plot.Plot // of equal length; nil = no panel
}

// Draw draws all of it.
func (ps panels) Draw(c draw.Canvas) {
	chart.FillRect(&c, c.Min.X, c.Max.X, c.Min.Y, c.Max.Y, color.White)
	c = draw.Crop(c, chart.Margin, -2*chart.Margin, chart.Margin, -chart.Margin)
	c.FillText(chart.Bold(chart.TextStyle(chart.TitleSize, chart.Black)),
		vg.Point{X: c.Min.X, Y: c.Max.Y - chart.TitleRow/2}, ps.title)
	chart.DrawKeys(draw.Crop(c, 0, 0, 0, -chart.TitleRow), ps.keys)
	c = draw.Crop(c, 0, 0, 0, -chart.TitleRow-chart.LegendRow*vg.Length(chart.CountRows(ps.keys))-chart.Margin)
	tiles := draw.Tiles{Rows: len(ps.rows), Cols: len(ps.rows[0]), PadX: 10, PadY: 8}
	for i, row := range plot.Align(ps.rows, tiles, c) {
		for k, at := range row {
			if p := ps.rows[i][k]; p != nil {
				p.Draw(at)
			}
		}
	}
}

// grid puts panels into rows of at most panelColumns.
func grid(all []*plot.Plot) [][]*plot.Plot {
	columns := min(len(all), panelColumns)
	var rows [][]*plot.Plot
	for part := range slices.Chunk(all, columns) {
		row := make([]*plot.Plot, columns)
		copy(row, part)
		rows = append(rows, row)
	}
	return rows
}
