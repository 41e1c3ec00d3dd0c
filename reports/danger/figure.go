package danger

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/chart"
	"locklab/workloads/guard"
)

// The heights of the rows of curves and of the row of costs.
const (
	curveHeight = 140
	costHeight  = 130
)

// looks are the looks of the guards, as in the pictures of package advice. Vermillion is for what goes wrong most.
var looks = map[string]chart.Trace{
	guard.None:        {Color: chart.Vermillion, Shape: draw.CircleGlyph{}},
	guard.LostContext: {Color: chart.Purple, Shape: draw.TriangleGlyph{}},
	guard.LeaseClock:  {Color: chart.Blue, Shape: draw.PyramidGlyph{}},
	guard.Fencing:     {Color: chart.Green, Shape: draw.SquareGlyph{}},
	guard.ZKMulti:     {Color: chart.Black, Shape: chart.CrossGlyph{}, Dashes: chart.Dashed},
}

// otherLooks are those of other locks, in their order.
var otherLooks = []chart.Trace{
	{Color: chart.DarkOrange, Shape: draw.RingGlyph{}, Dashes: chart.Dashed},
	{Color: chart.Grey, Shape: draw.BoxGlyph{}, Dashes: chart.Dotted},
	{Color: chart.Owners[3], Shape: draw.RingGlyph{}, Dashes: chart.Dotted},
}

// curves are the curves of all panels, each once, with their looks.
func (d *Danger) curves() (names []string, look []chart.Trace) {
	others := 0
	for _, p := range d.Panels {
		for i := range p.Curves {
			c := &p.Curves[i]
			if slices.Contains(names, c.Name()) {
				continue
			}
			l, known := looks[c.Name()]
			if !known {
				l = otherLooks[others%len(otherLooks)]
				others++
			}
			names, look = append(names, c.Name()), append(look, l)
		}
	}
	return names, look
}

// outcomes are the rows of the picture.
var outcomes = []struct {
	title string
	of    func(*Point) Share
}{
	{"two clients believe at once", func(p *Point) Share { return p.Believed }},
	{"an outdated access is accepted", func(p *Point) Share { return p.Stale }},
	{"an acknowledged update is lost", func(p *Point) Share { return p.Lost }},
}

func (d *Danger) figures() []chart.Figure {
	names, look := d.curves()
	var keys []chart.Key
	for i, n := range names {
		keys = append(keys, chart.Key{Text: n, Thumb: look[i]})
	}
	keys = append(keys, chart.Key{Text: "here the session expires, by prediction",
		Thumb: chart.Swatch{Color: chart.Shade}})
	if d.Beside != nil {
		keys = append(keys, chart.Key{Text: "rings: " + d.Beside.Name, Thumb: ring(chart.Black)})
	}
	top := chart.Panels{Title: d.title(), Keys: keys}
	for r, o := range outcomes {
		var row []*plot.Plot
		for i := range d.Panels {
			p := d.outcomePanel(&d.Panels[i], o.title, o.of, names, look)
			if r == len(outcomes)-1 {
				p.X.Label.Text = d.Panels[i].Axis + " / session timeout"
			}
			row = append(row, p)
		}
		top.Rows = append(top.Rows, row)
	}
	bottom := chart.Panels{Title: "What each costs (medians of the same runs)",
		Rows: [][]*plot.Plot{d.costPanels(names, look)}}
	costs := bottom.Height(costHeight)
	height := top.Height(curveHeight) + costs
	return []chart.Figure{{
		Name: "danger", Title: d.title(), Height: height,
		Draw: func(c draw.Canvas) {
			top.Draw(draw.Crop(c, 0, 0, costs, 0))
			bottom.Draw(draw.Crop(c, 0, 0, 0, costs-height))
		},
		Caption: "The share of faults after which two clients believe at once that they hold the lock, an outdated " +
			"access is accepted, and an acknowledged update is lost, against the " + d.axes() + ". Bars are 95 % " +
			"intervals. Below: what each guard costs in the same runs.",
	}}
}

// ring is the look of the points of another measurement.
func ring(c color.NRGBA) chart.Trace {
	return chart.Trace{Color: c, NoLine: true, Shape: draw.RingGlyph{}}
}

// axes says what the doses of the panels measure.
func (d *Danger) axes() string {
	var all []string
	for _, p := range d.Panels {
		if !slices.Contains(all, p.Axis) {
			all = append(all, p.Axis)
		}
	}
	return joined(all)
}

// question is what the page asks, and the picture's title where nothing answers it.
const question = "When is a lock unsafe?"

// title says in one line which guard protects.
func (d *Danger) title() string {
	if len(d.Panels) == 0 {
		return "No trials"
	}
	p := &d.Panels[0]
	var safe []string
	var stale, lost Share
	var without string
	for i := range p.Curves {
		c := &p.Curves[i]
		switch {
		case c.Trials() == 0:
		case c.Promises():
			s := c.sum(func(p *Point) Share { return p.Stale }, 0, math.Inf(1))
			l := c.sum(func(p *Point) Share { return p.Lost }, 0, math.Inf(1))
			stale, lost = ShareOf(stale.Count+s.Count, stale.Of+s.Of), ShareOf(lost.Count+l.Count, lost.Of+l.Of)
			safe = append(safe, c.Name())
		case c.Name() == guard.None:
			s := c.sum(func(p *Point) Share { return p.Lost }, p.Expires[1], math.Inf(1))
			without = fmt.Sprintf("Without a guard, %s of the %s lose an update", percent(s.Estimate()),
				p.beyond())
		}
	}
	text := without
	if len(safe) > 0 {
		with, do := "With ", "lose an update"
		if text != "" {
			with, do = "; with ", "do"
		}
		text += fmt.Sprintf("%s%s, %d of all %d %s", with, joined(safe), lost.Count, lost.Of, do)
	}
	if text == "" {
		return question
	}
	return text
}

// outcomePanel draws one outcome of a panel.
func (d *Danger) outcomePanel(of *Panel, title string, share func(*Point) Share, names []string, look []chart.Trace,
) *plot.Plot {
	p := chart.NewPanel(fmt.Sprintf("%s – %s", title, of.Title))
	p.Add(expiryBand{of.Expires}, chart.Grid{Horizontal: true})
	longest := 0.0
	for k, name := range names {
		t, rings := look[k], ring(look[k].Color)
		// Curves are beside one another so that their bars do not hide.
		x := func(dose float64) float64 { return dose + 0.012*(float64(k)-float64(len(names)-1)/2) }
		for i := range of.Curves {
			c := &of.Curves[i]
			if c.Name() != name {
				continue
			}
			for n := range c.Points {
				at := &c.Points[n]
				longest = max(longest, at.Dose)
				if at.Trials() == 0 {
					continue
				}
				s := share(at)
				t.XYs = append(t.XYs, plotter.XY{X: x(at.Dose), Y: 100 * s.Estimate()})
				t.Ranges = append(t.Ranges, [2]float64{100 * s.Low, 100 * s.High})
			}
		}
		if len(t.XYs) > 0 {
			p.Add(t)
		}
		if d.Beside == nil {
			continue
		}
		if c := d.Beside.curve(of.Name, name); c != nil {
			for n := range c.Points {
				if at := &c.Points[n]; at.Trials() > 0 && at.Dose <= longest {
					rings.XYs = append(rings.XYs, plotter.XY{X: x(at.Dose), Y: 100 * share(at).Estimate()})
				}
			}
			p.Add(rings)
		}
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, longest+0.15, 0, 100
	p.X.Tick.Marker, p.Y.Tick.Marker = chart.Even{Unit: " T", Want: 6}, chart.Even{Unit: " %", Want: 3}
	return p
}

// expiryBand shades the lengths at which sessions expire, by prediction.
type expiryBand struct{ between [2]float64 }

// Plot implements plot.Plotter.
func (b expiryBand) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	from, to := max(x(b.between[0]), c.Min.X), min(x(b.between[1]), c.Max.X)
	if to > from {
		chart.FillRect(&c, from, to, c.Min.Y, c.Max.Y, chart.Shade)
	}
}

// costPanels draw what each curve costs, over all panels.
func (d *Danger) costPanels(names []string, look []chart.Trace) []*plot.Plot {
	kinds := []struct {
		title string
		of    func(*Costs) (float64, bool)
		text  func(float64) string
	}{
		{"requests per acquisition", func(c *Costs) (float64, bool) { return known(c.Requests, 1) },
			func(v float64) string { return fmt.Sprintf("%.1f", v) }},
		{"hand-off, p50 in ms", func(c *Costs) (float64, bool) { return known(c.HandOffP50Ns, 1e-6) },
			func(v float64) string { return fmt.Sprintf("%.1f", v) }},
		{"acquisitions per second", func(c *Costs) (float64, bool) { return known(c.PerSecond, 1) },
			func(v float64) string { return fmt.Sprintf("%.0f", v) }},
		{"valid holds given up, %", func(c *Costs) (float64, bool) { return 100 * c.GivenUp.Estimate(), c.GivenUp.Of > 0 },
			func(v float64) string { return fmt.Sprintf("%.1f", v) }},
	}
	var all []*plot.Plot
	for _, k := range kinds {
		p := chart.NewPanel(k.title)
		b := costBars{names: names, text: k.text}
		for i, name := range names {
			b.colors = append(b.colors, look[i].Color)
			v, ok := math.NaN(), false
			if len(d.Panels) > 0 {
				for n := range d.Panels[0].Curves {
					if c := &d.Panels[0].Curves[n]; c.Name() == name && c.Runs > 0 {
						v, ok = k.of(&c.Costs)
					}
				}
			}
			if !ok {
				v = math.NaN()
			}
			b.values = append(b.values, v)
		}
		p.Add(b)
		p.HideAxes()
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, b.most(), 0, float64(len(names))
		all = append(all, p)
	}
	return all
}

func known(v *float64, unit float64) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return *v * unit, true
}

// costBars draws one horizontal bar for each curve, with its name and value.
type costBars struct {
	names  []string
	values []float64 // NaN = not known
	colors []color.NRGBA
	text   func(float64) string
}

func (b costBars) most() float64 {
	most := 0.0
	for _, v := range b.values {
		if v > most {
			most = v
		}
	}
	return max(most, 1e-9)
}

// Plot implements plot.Plotter.
func (b costBars) Plot(c draw.Canvas, _ *plot.Plot) {
	row := (c.Max.Y - c.Min.Y) / vg.Length(len(b.names))
	style := chart.TextStyle(chart.SmallSize, chart.Black)
	var most vg.Length // of the names' widths
	names := make([]string, len(b.names))
	for i, n := range b.names {
		names[i] = chart.Shorten(n, style, (c.Max.X-c.Min.X)/2)
		most = max(most, style.Width(names[i]))
	}
	left, right := c.Min.X+most+4, c.Max.X-style.Width("000.0")-4
	for i, v := range b.values {
		y := c.Max.Y - row*(vg.Length(i)+0.5)
		c.FillText(style, vg.Point{X: c.Min.X, Y: y}, names[i])
		if math.IsNaN(v) {
			c.FillText(style, vg.Point{X: left, Y: y}, "n/a")
			continue
		}
		end := left + (right-left)*vg.Length(v/b.most())
		chart.FillRect(&c, left, max(end, left+0.5), y-row*0.3, y+row*0.3, b.colors[i])
		c.FillText(style, vg.Point{X: end + 3, Y: y}, b.text(v))
	}
}
