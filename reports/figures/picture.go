package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// panelHeight is the height of each of a picture's panels.
const panelHeight = 170

// Picture draws the columns Drawn against the key Across, with a line for each combination of the other keys. It shows
// the same rounds as the table, and draws nothing if there are none.
func (f *Figure) Picture(all []Record) (chart.Figure, error) {
	title := strings.ToUpper(f.Name[:1]) + f.Name[1:] + " against " + f.Across
	p := chart.Figure{Name: f.Name, Title: title, Absent: "nothing was measured",
		Caption: "Medians over rounds. Bars are their intervals of 95 %, which need five rounds."}
	if f.Across == "" || len(f.Drawn) == 0 || len(all) == 0 {
		return p, nil
	}
	all, _ = newest(all)
	rows := f.rows(all)
	if len(rows) == 0 {
		return p, nil
	}
	var ticks places
	for i, name := range f.positions(rows) {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: name})
	}
	lines := f.lines(rows)
	slices.SortStableFunc(rows, func(a, b []Record) int {
		return cmp.Compare(ticks.of(a[0].Cell[f.Across]), ticks.of(b[0].Cell[f.Across]))
	})
	panels := chart.Panels{Title: p.Title}
	for i, line := range lines {
		panels.Keys = append(panels.Keys, chart.Key{Text: line, Thumb: chart.SeriesTrace(i)})
	}
	for _, name := range f.Drawn {
		panel, err := f.panel(name, rows, lines, ticks)
		if err != nil {
			return p, err
		}
		if panel != nil {
			panels.Rows = append(panels.Rows, []*plot.Plot{panel})
		}
	}
	if len(panels.Rows) == 0 {
		return p, nil
	}
	panels.Rows[len(panels.Rows)-1][0].X.Label.Text = f.Across
	p.Height, p.Draw = panels.Height(panelHeight), panels.Draw
	return p, nil
}

// places are the values along the x axis.
type places []plot.Tick

// of returns where a value is.
func (p places) of(value string) float64 {
	return float64(slices.IndexFunc(p, func(t plot.Tick) bool { return t.Label == value }))
}

// panel draws one number of all rows. It returns nil if no round has the number.
func (f *Figure) panel(name string, rows [][]Record, lines []string, ticks places) (*plot.Plot, error) {
	q, ok := result.Named(name)
	if !ok {
		return nil, fmt.Errorf("the figure %s: there is no number %s", f.Name, name)
	}
	panel := chart.NewPanel(cmp.Or(heads[name], strings.ReplaceAll(name, ".", " ")) + " (log scale)")
	panel.Add(chart.Grid{Horizontal: true})
	lo, hi := math.Inf(1), 0.0
	for i, line := range lines {
		drawn := chart.SeriesTrace(i)
		// Lines are beside one another so that their bars do not hide.
		aside := 0.05 * (float64(i) - float64(len(lines)-1)/2)
		for _, rounds := range rows {
			values := valuesOf(rounds, name)
			if f.lineOf(&rounds[0]) != line || len(values) == 0 {
				continue
			}
			y := heights(values, q.Unit)
			x := ticks.of(rounds[0].Cell[f.Across]) + aside
			if n := len(drawn.XYs); n > 0 && x-drawn.XYs[n-1].X > 1.5 { // the line does not cross a place without a value
				panel.Add(drawn)
				drawn = chart.SeriesTrace(i)
			}
			drawn.XYs = append(drawn.XYs, plotter.XY{X: x, Y: y[1]})
			drawn.Ranges = append(drawn.Ranges, [2]float64{y[0], y[2]})
			lo, hi = min(lo, y[0]), max(hi, y[2])
		}
		panel.Add(drawn)
	}
	if hi == 0 {
		return nil, nil
	}
	panel.X.Min, panel.X.Max, panel.X.Tick.Marker = -0.4, float64(len(ticks))-0.6, plot.ConstantTicks(ticks)
	panel.Y.Min, panel.Y.Max = chart.FitLog(lo, hi)
	panel.Y.Scale, panel.Y.Tick.Marker = plot.LogScale{}, chart.LogNumber{}
	if q.Unit == result.Nanoseconds {
		panel.Y.Tick.Marker = chart.LogTime{}
	}
	return panel, nil
}

// heights are where the interval of some rounds begins, their median, and where the interval ends. A number of
// nanoseconds is drawn in ms.
func heights(values []float64, unit result.Unit) [3]float64 {
	m := measure.Median(values)
	low, high, known := interval(values)
	if !known {
		low, high = m, m
	}
	y := [3]float64{low, m, high}
	for i := range y {
		if unit == result.Nanoseconds {
			y[i] = chart.Millis(int64(y[i]))
		}
		y[i] = max(y[i], chart.Floor)
	}
	return y
}

// lineOf names the line of a round: the values of the keys that are not along the x axis.
func (f *Figure) lineOf(r *Record) string {
	var parts []string
	for _, key := range f.Keys {
		switch {
		case key == f.Across:
		case key == KeyPeer:
			parts = append(parts, r.Cell[key])
		default:
			parts = append(parts, key+" "+r.Cell[key])
		}
	}
	return strings.Join(parts, ", ")
}

// lines are the names of the lines, in the order of the table.
func (f *Figure) lines(rows [][]Record) (all []string) {
	for _, rounds := range rows {
		if line := f.lineOf(&rounds[0]); !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	return all
}

// positions are the values along the x axis, the least first.
func (f *Figure) positions(rows [][]Record) (all []string) {
	for _, rounds := range rows {
		if v := rounds[0].Cell[f.Across]; !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	size := func(text string) float64 {
		if d, err := time.ParseDuration(text); err == nil {
			return float64(d)
		}
		v, _ := strconv.ParseFloat(text, 64)
		return v
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(size(a), size(b)) })
	return all
}
