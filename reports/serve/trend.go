package serve

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/untrusted"
	"locklab/reports/chart"
	"locklab/reports/result"
)

// usualNumber is the number whose trend is shown if none is chosen.
const usualNumber = "acquired_per_s"

// mostKinds is the most kinds of runs in one picture, each with a colour of its own.
const mostKinds = len(chart.Owners)

// A trendView is the page with the trend of a number.
type trendView struct {
	frameView
	Filter   filterView
	Numbers  []option
	Name     string
	Means    string
	Better   string
	Picture  chart.Picture
	Kinds    []trendKind
	Left     int // kinds that have no place in the picture
	Rows     []trendRow
	Unshown  int // runs of the table that are left out
	Without  int // runs that do not have the number
	Selected bool
}

// A trendKind is the runs of one scenario with one recipe, which alone can be compared with each other.
type trendKind struct {
	Name               string
	Runs               int
	Median, Least, Max string

	points []trendPoint
}

// A trendPoint is the number in one run.
type trendPoint struct {
	*run
	place int // among all runs that are shown, the earliest first
	value float64
}

// A trendRow is a run in the table.
type trendRow struct {
	*run
	Kind, Value string
}

// trend answers with the trend of a number over runs.
func (s *Server) trend(w http.ResponseWriter, r *http.Request) {
	f, bad := filterOf(r.URL.Query())
	q, known := result.Named(cmp.Or(r.URL.Query().Get("number"), usualNumber))
	all, _, err := s.index.all(s.root)
	switch {
	case bad != nil:
		s.problem(w, http.StatusBadRequest, "This is not a filter", bad.Error())
		return
	case !known:
		s.problem(w, http.StatusBadRequest, "There is no such number", fmt.Sprintf("No run has a number called %q.",
			untrusted.Line(r.URL.Query().Get("number"))))
		return
	case err != nil:
		s.problem(w, http.StatusInternalServerError, "The directory cannot be read", err.Error())
		return
	}
	v := trendView{frameView: s.frame("Trend of "+q.Name(), "/trend", f), Filter: f.view(all), Name: q.Name(),
		Means: q.Means}
	v.Better = map[result.Direction]string{result.Lower: "Lower is better.", result.Higher: "Higher is better."}[q.Better]
	for _, o := range result.Quantities() {
		v.Numbers = append(v.Numbers, option{o.Name(), o.Name(), o.Name() == q.Name()})
	}
	v.collect(f.of(all), q)
	v.Picture = v.figure(q).Inline()
	show(w, http.StatusOK, "trend", v)
}

// collect sorts the runs that have the number by their kinds.
func (v *trendView) collect(runs []run, q result.Quantity) {
	kinds := map[string]*trendKind{}
	place := 0
	for i := range slices.Backward(runs) { // the latest is the first
		r := &runs[i]
		n := q.Value(&r.Result)
		if !r.State.Judged() || r.Result.Partial || n == nil {
			v.Without++
			continue
		}
		name := r.kind()
		if kinds[name] == nil {
			kinds[name] = &trendKind{Name: name}
		}
		kinds[name].points = append(kinds[name].points, trendPoint{r, place, *n})
		v.Rows = append(v.Rows, trendRow{r, name, q.Show(n)})
		place++
	}
	slices.Reverse(v.Rows)
	v.Unshown = max(0, len(v.Rows)-pageRuns)
	v.Rows = v.Rows[:len(v.Rows)-v.Unshown]
	for _, k := range kinds {
		values := make([]float64, len(k.points))
		for i, p := range k.points {
			values[i] = p.value
		}
		slices.Sort(values)
		n := len(values)
		median := (values[(n-1)/2] + values[n/2]) / 2
		k.Runs, k.Median, k.Least, k.Max = n, q.Show(&median), q.Show(&values[0]), q.Show(&values[n-1])
		v.Kinds = append(v.Kinds, *k)
	}
	slices.SortFunc(v.Kinds, func(a, b trendKind) int {
		return cmp.Or(b.Runs-a.Runs, strings.Compare(a.Name, b.Name))
	})
	v.Left = max(0, len(v.Kinds)-mostKinds)
}

// kind names the scenario and the recipe of a run.
func (r *run) kind() string {
	if r.Result.Recipe == "" || r.Result.Recipe == r.Result.Scenario {
		return r.Title()
	}
	return r.Title() + ", recipe " + r.Result.Recipe
}

// figure draws the number in the order of the runs, a line for each kind.
func (v *trendView) figure(q result.Quantity) chart.Figure {
	f := chart.Figure{Name: "trend", Title: "Trend of " + q.Name(), Height: 300,
		Caption: "Each mark is a run, the earliest on the left. A line joins the runs of one scenario and recipe. " +
			"A cross is a run that failed or is unknown.",
		Absent: "No run that was chosen has this number."}
	if len(v.Kinds) == 0 {
		return f
	}
	p := chart.New(f.Title, "runs, by when they began", cmp.Or(q.Tile, q.Name()))
	p.Add(chart.Grid{Horizontal: true})
	var bad plotter.XYs
	var shown []trendPoint
	top := 0.0
	for i, k := range v.Kinds[:len(v.Kinds)-v.Left] {
		t := chart.Trace{Color: chart.Owners[i], Shape: draw.CircleGlyph{}}
		for _, at := range k.points {
			xy := plotter.XY{X: float64(at.place), Y: at.value}
			t.XYs = append(t.XYs, xy)
			if c := at.State.Class(); c == "fail" || at.State == state(result.Inconclusive) {
				bad = append(bad, xy)
			}
			top = max(top, at.value)
		}
		shown = append(shown, k.points...)
		p.Add(t)
		p.Explain(k.Name, t)
	}
	if len(bad) > 0 {
		crosses := chart.Crosses{XYs: bad, Color: chart.Black}
		p.Add(crosses)
		p.Explain("failed or unknown", crosses)
	}
	slices.SortFunc(shown, func(a, b trendPoint) int { return a.place - b.place })
	p.X.Min, p.X.Max = float64(shown[0].place)-0.5, float64(shown[len(shown)-1].place)+0.5
	p.X.Tick.Marker = days(shown)
	p.Y.Min, p.Y.Max = 0, max(top*1.1, 1e-9)
	p.Y.Tick.Marker = amounts{chart.Even{Want: 5}, q}
	f.Height += chart.LegendRow * 2
	f.Draw = p.Draw
	return f
}

// amounts is an axis of a quantity's values.
type amounts struct {
	chart.Even
	of result.Quantity
}

// Ticks implements plot.Ticker.
func (a amounts) Ticks(lo, hi float64) []plot.Tick {
	a.Whole = a.of.Unit == result.Count || a.of.Unit == result.Bytes
	ticks := a.Even.Ticks(lo, hi)
	for i := range ticks {
		ticks[i].Label = a.of.Show(&ticks[i].Value)
	}
	return ticks
}

// days is an axis of runs, on which some say when they began.
type days []trendPoint

// mostDays is the most labels on such an axis.
const mostDays = 6

// Ticks implements plot.Ticker.
func (d days) Ticks(float64, float64) (ticks []plot.Tick) {
	step := max(1, (len(d)+mostDays-1)/mostDays)
	for i := 0; i < len(d); i += step {
		ticks = append(ticks, plot.Tick{Value: float64(d[i].place), Label: d[i].Started.Format("2 Jan, 15:04")})
	}
	return ticks
}
