package advice

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
	"locklab/reports/words"
	"locklab/workloads/guard"
)

// panelHeight is the height of each part of the picture.
const panelHeight = 170

// Figure draws how often, for how long and at what cost, against the session timeout, with the recommended one.
func (a *Advice) Figure() chart.Figure {
	drawn := chart.Panels{
		Title: a.title(),
		Keys:  a.keys(),
		Rows:  [][]*plot.Plot{{a.ratesPanel()}, {a.crashPanel()}, {a.costPanel()}},
	}
	for i, row := range drawn.Rows {
		a.timeoutAxis(row[0])
		if i == len(drawn.Rows)-1 {
			row[0].X.Label.Text = "session timeout (log scale)"
		}
	}
	return chart.Figure{
		Name: "advice", Height: drawn.Height(panelHeight), Draw: drawn.Draw,
		Caption: "Against the session timeout: how often sessions expire although their clients live, and how often a " +
			"client uses a lock that it has lost, by guard; how long nobody gets the lock after its holder crashed; and what " +
			"both cost a year. Bars are 95 % intervals. Rings are upper limits where no pause was long enough.",
	}
}

func (a *Advice) title() string {
	o := a.chosen(a.Guard)
	if a.Undecided != "" {
		return fmt.Sprintf("The pauses cannot carry a choice (guard %s): %s of logs are needed", a.Guard,
			words.Count(int64(math.Ceil(time.Duration(a.NeededNs).Hours()/24)), "day"))
	}
	return fmt.Sprintf("Choose a session timeout of %s (guard %s): %s", words.Duration(o.TimeoutNs), a.Guard, a.why(o))
}

// why says in a few words why an option is the best one.
func (a *Advice) why(o *Option) string {
	const shorter, longer = "shorter ones lose sessions", "longer ones wait after crashes"
	switch {
	case o.FalseExpiries.Unseen:
		return "it outlasts all pauses seen, and " + longer
	case o.TimeoutNs == a.Options[0].TimeoutNs:
		return longer
	case o.TimeoutNs == a.Options[len(a.Options)-1].TimeoutNs:
		return shorter
	}
	return shorter + ", " + longer
}

// ratesOf are the series of the first panel, without the guards that let nothing through.
func (a *Advice) ratesOf() (names []string, of []func(o *Option) (Rate, bool)) {
	names = append(names, "false expiries")
	of = append(of, func(o *Option) (Rate, bool) { return o.FalseExpiries, true })
	for _, g := range guard.All {
		if !g.RefusesStale() {
			names = append(names, "double holds, "+g.Name)
			of = append(of, func(o *Option) (Rate, bool) { r, ok := o.DoubleHolds[g.Name]; return r, ok })
		}
	}
	return names, of
}

// The series' looks. Vermillion is for what goes wrong most.
var looks = []chart.Trace{
	{Color: chart.Grey, Shape: draw.SquareGlyph{}, Dashes: chart.Dashed},
	{Color: chart.Vermillion, Shape: draw.CircleGlyph{}},
	{Color: chart.Purple, Shape: draw.TriangleGlyph{}},
	{Color: chart.Blue, Shape: draw.PyramidGlyph{}},
}

func (a *Advice) keys() []chart.Key {
	names, _ := a.ratesOf()
	var keys []chart.Key
	for i, name := range names {
		keys = append(keys, chart.Key{Text: name, Thumb: looks[i]})
	}
	for _, part := range a.costParts() {
		if part.name != "" {
			keys = append(keys, chart.Key{Text: part.name, Thumb: part.look})
		}
	}
	for _, o := range a.Options {
		if o.FalseExpiries.Unseen {
			return append(keys, chart.Key{Text: "no pause seen was that long: at most so many (95 %), cost at least",
				Thumb: chart.Trace{Color: chart.Grey, NoLine: true, Shape: draw.RingGlyph{}}})
		}
	}
	return keys
}

// ratesPanel draws how often things happen a year.
func (a *Advice) ratesPanel() *plot.Plot {
	p := chart.NewPanel("how often a year (log scale; bars: 95 %); fencing and zk-multi let no double hold through")
	p.Add(chart.Grid{Horizontal: true})
	_, of := a.ratesOf()
	lo, hi := math.Inf(1), 0.0
	for i, rate := range of {
		seen, limits := looks[i], looks[i]
		limits.Shape, limits.NoLine = draw.RingGlyph{}, true
		for k := range a.Options {
			r, ok := rate(&a.Options[k])
			x := a.x(&a.Options[k], i, len(of))
			switch {
			case !ok || r == Rate{}:
				continue
			case r.Unseen:
				limits.XYs = append(limits.XYs, plotter.XY{X: x, Y: r.High})
				lo, hi = min(lo, r.High), max(hi, r.High)
			default:
				low := max(r.Low, r.AYear/100)
				seen.XYs = append(seen.XYs, plotter.XY{X: x, Y: r.AYear})
				seen.Ranges = append(seen.Ranges, [2]float64{low, r.High})
				lo, hi = min(lo, low), max(hi, r.High)
			}
		}
		p.Add(seen, limits)
	}
	if hi == 0 {
		lo, hi = 0.1, 1
	}
	p.Y.Min, p.Y.Max = chart.FitLog(lo, hi)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogNumber{}
	return p
}

// crashPanel draws how long nobody gets the lock after a crash.
func (a *Advice) crashPanel() *plot.Plot {
	p := chart.NewPanel("seconds without progress after a holder's crash (mean; bars: least to most)")
	p.Add(chart.Grid{Horizontal: true})
	t := chart.Trace{Color: chart.Black, Shape: draw.CircleGlyph{}}
	for i := range a.Options {
		s := a.Options[i].WithoutProgress
		t.XYs = append(t.XYs, plotter.XY{X: a.x(&a.Options[i], 0, 1), Y: chart.Seconds(s.MeanNs)})
		t.Ranges = append(t.Ranges, [2]float64{chart.Seconds(s.LeastNs), chart.Seconds(s.MostNs)})
	}
	p.Add(t)
	p.Y.Min, p.Y.Tick.Marker = 0, chart.Even{Unit: " s", Want: 4}
	p.Y.Max *= 1.05
	return p
}

// costPanel draws what a year costs and of what, with the least.
func (a *Advice) costPanel() *plot.Plot {
	p := chart.NewPanel(fmt.Sprintf("cost in hours a year (log scale): a double hold counts %s, a false expiry %s, a "+
		"crash its wait", spanText(a.cfg.DoubleHoldCost), spanText(a.cfg.ExpiryCost)))
	p.Add(chart.Grid{Horizontal: true})
	g, _ := guard.Find(a.Guard)
	parts := a.costParts()
	// Where no pause was long enough, double holds and false expiries are missing from the total.
	atLeast := chart.Trace{Color: chart.Green, NoLine: true, Shape: draw.RingGlyph{}}
	for i := range a.Options {
		o := &a.Options[i]
		if _, ok := o.CostSAYear[a.Guard]; !ok {
			continue
		}
		for k := range parts {
			if v := parts[k].of(o, g); v > 0 {
				at := plotter.XY{X: chart.Seconds(o.TimeoutNs), Y: v / 3600}
				parts[k].look.XYs = append(parts[k].look.XYs, at)
			}
		}
		if o.FalseExpiries.Unseen {
			atLeast.XYs = append(atLeast.XYs, plotter.XY{X: chart.Seconds(o.TimeoutNs), Y: o.CostSAYear[a.Guard] / 3600})
		}
	}
	for _, part := range parts {
		if len(part.look.XYs) > 0 {
			p.Add(part.look)
		}
	}
	p.Add(atLeast)
	// A part that costs next to nothing does not matter, and would squeeze the others.
	p.Y.Min, p.Y.Max = chart.FitLog(max(p.Y.Min, p.Y.Max/mostDecades), p.Y.Max)
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, chart.LogNumber{}
	return p
}

// mostDecades is how many times as much as its lower end the upper end of a logarithmic axis is at most.
const mostDecades = 1e5

// A costPart is a part of the cost, in seconds without progress a year.
type costPart struct {
	name string
	look chart.Trace
	of   func(o *Option, g guard.Guard) float64
}

// costParts are the parts of the cost, and their sum.
func (a *Advice) costParts() []costPart {
	doubles, expiries := looks[1], looks[0]
	for i, g := range guard.All {
		if g.Name == a.Guard && i+1 < len(looks) {
			doubles = looks[i+1]
		}
	}
	doubles.Shape, expiries.Shape = nil, nil
	return []costPart{
		{"", doubles, func(o *Option, g guard.Guard) float64 {
			return o.DoubleHolds[g.Name].AYear * a.cfg.DoubleHoldCost.Seconds()
		}},
		{"", expiries, func(o *Option, _ guard.Guard) float64 {
			return o.FalseExpiries.AYear * a.cfg.ExpiryCost.Seconds()
		}},
		{"waiting after crashes", chart.Trace{Color: chart.Black, Dashes: chart.Dotted},
			func(o *Option, _ guard.Guard) float64 {
				return a.cfg.CrashesAYear * chart.Seconds(o.WithoutProgress.MeanNs)
			}},
		{"cost in total", chart.Trace{Color: chart.Green},
			func(o *Option, g guard.Guard) float64 { return a.cost(o, g, Rate.estimate) }},
	}
}

// x is where an option is on the axis; series of several are beside one another so that their bars do not hide.
func (a *Advice) x(o *Option, series, of int) float64 {
	const apart = 0.006
	return chart.Seconds(o.TimeoutNs) * math.Exp(apart*(float64(series)-float64(of-1)/2))
}

// timeoutAxis gives a panel the axis of timeouts, and marks the recommended one.
func (a *Advice) timeoutAxis(p *plot.Plot) {
	first, last := &a.Options[0], &a.Options[len(a.Options)-1]
	p.X.Min, p.X.Max = chart.Seconds(first.TimeoutNs)/1.12, chart.Seconds(last.TimeoutNs)*1.12
	p.X.Scale = plot.LogScale{}
	var ticks plot.ConstantTicks
	for _, o := range a.Options {
		ticks = append(ticks, plot.Tick{Value: chart.Seconds(o.TimeoutNs), Label: words.Duration(o.TimeoutNs)})
	}
	p.X.Tick.Marker = ticks
	o := a.chosen(a.Guard)
	p.Add(chart.Rule{At: chart.Seconds(o.TimeoutNs), Color: chart.Green,
		Text: words.Duration(o.TimeoutNs) + " costs least"})
}
