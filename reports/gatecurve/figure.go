package gatecurve

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
)

// panelHeight is the height of each of the picture's panels.
const panelHeight = 125

// looks are the looks of the machines, in their order.
var looks = []chart.Trace{
	{Color: chart.Blue, Shape: draw.CircleGlyph{}, NoLine: true},
	{Color: chart.DarkOrange, Shape: draw.SquareGlyph{}, NoLine: true},
	{Color: chart.Purple, Shape: draw.TriangleGlyph{}, NoLine: true},
	{Color: chart.Green, Shape: draw.PyramidGlyph{}, NoLine: true},
}

// Figure draws the rows: for each cell how many comparisons were called, how many were inconclusive, and how long they
// took. It draws nothing without comparisons.
func Figure(rows []Row) chart.Figure {
	f := chart.Figure{Name: "gate-curve", Title: "How often is the gate right?",
		Caption: "Comparisons that were called and that were inconclusive, with exact 95 % intervals, and the minutes " +
			"that they took, with the longest. Rings are goals: of the same code, few may be called; of what is slower, many.",
		Absent: "no comparison was made"}
	rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Comparisons() == 0 })
	if len(rows) == 0 {
		return f
	}
	goals := chart.Trace{Color: chart.Grey, Shape: draw.RingGlyph{}, NoLine: true}
	var names []plot.Tick
	place := map[string]float64{}
	for i, c := range cells {
		place[c.Name] = float64(i)
		names = append(names, plot.Tick{Value: float64(i), Label: c.Short})
	}
	called, open, minutes := chart.NewPanel("called"), chart.NewPanel("inconclusive"), chart.NewPanel("minutes")
	for _, p := range []*plot.Plot{called, open, minutes} {
		p.Add(chart.Grid{Horizontal: true})
	}
	keys, longest := []chart.Key{}, 0.0
	for k, m := range machinesOf(rows) {
		look := looks[k%len(looks)]
		keys = append(keys, chart.Key{Text: cmp.Or(m, "a machine"), Thumb: look})
		traces := [3]chart.Trace{look, look, look}
		for _, r := range rows {
			if r.Machine != m {
				continue
			}
			longest = max(longest, r.Longest)
			// Machines are beside one another so that their bars do not hide.
			x, c := place[r.Cell.Name]+0.12*float64(k), r.Cell
			goals.XYs = append(goals.XYs, plotter.XY{X: x, Y: 100 * float64(c.Least+c.Most) / float64(c.Wanted)})
			for i, share := range []Rate{r.Called, r.Open} {
				low, high := share.Interval()
				traces[i].XYs = append(traces[i].XYs, plotter.XY{X: x, Y: 100 * float64(share.Count) / float64(share.Of)})
				traces[i].Ranges = append(traces[i].Ranges, [2]float64{100 * low, 100 * high})
			}
			traces[2].XYs = append(traces[2].XYs, plotter.XY{X: x, Y: r.Minutes})
			traces[2].Ranges = append(traces[2].Ranges, [2]float64{r.Minutes, r.Longest})
		}
		called.Add(traces[0])
		open.Add(traces[1])
		minutes.Add(traces[2])
	}
	called.Add(goals)
	for _, p := range []*plot.Plot{called, open, minutes} {
		p.X.Tick.Marker = plot.ConstantTicks(names)
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.4, float64(len(cells))-0.4, 0, 100
		p.Y.Tick.Marker = chart.Even{Unit: " %", Want: 3}
	}
	minutes.Y.Max, minutes.Y.Tick.Marker = longest*1.05, chart.Even{Want: 3}
	all := chart.Panels{Title: f.Title, Keys: append(keys, chart.Key{Text: "goal", Thumb: goals}),
		Rows: [][]*plot.Plot{{called}, {open}, {minutes}}}
	f.Height, f.Draw = all.Height(panelHeight), all.Draw
	return f
}

// machinesOf lists the machines of rows.
func machinesOf(rows []Row) (names []string) {
	for _, r := range rows {
		if !slices.Contains(names, r.Machine) {
			names = append(names, r.Machine)
		}
	}
	return names
}
