package sweep

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"locklab/reports/capacity"
	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/words"
)

// searchedClients and searchedLocks are the keys besides the rate that a search can be over.
const (
	searchedClients = "clients"
	searchedLocks   = "locks"
)

func (s *Sweep) goals() string { return strings.Join(s.Saturate, " and ") }

// fewest reports whether a search looks for the least level that holds: of locks, and of clients that serve a rate.
func (s *Sweep) fewest(l *capacity.Limit) bool {
	return l.Lower != nil && l.Upper != nil && *l.Upper < *l.Lower || s.Over == searchedLocks
}

func (s *Sweep) amount(level *float64) string {
	if level == nil {
		return words.Absent
	}
	switch s.Over {
	case searchedClients, searchedLocks:
		return words.Count(int64(*level), strings.TrimSuffix(s.Over, "s"))
	}
	return words.Digits3(*level) + " per second"
}

// limitHeadlines say what a search found: the answer in one sentence, then what makes it one.
func (s *Sweep) limitHeadlines(series *Series, p *Point) []string {
	return texts.Lines("limit", struct {
		*Sweep
		Name, Goals string
		Point       *Point
		Limit       *capacity.Limit
		Headroom    headroom
	}{s, s.pointName(series, p), s.goals(), p, p.Limit, s.headroom(p.Limit)})
}

// interval says in which interval the limit lies, and what that rests on.
func (s *Sweep) interval(l *capacity.Limit) string {
	end := func(v *float64, open string) string {
		if v == nil {
			return open
		}
		return words.Digits3(*v)
	}
	easy, hard := end(l.Low, "less"), end(l.High, "more")
	if s.fewest(l) {
		easy, hard = end(l.High, "fewer"), end(l.Low, "more")
	}
	return fmt.Sprintf("%.0f %% interval %s to %s, by %d and %d windows", 100*capacity.Confidence, easy, hard,
		l.LowerWindows, l.UpperWindows)
}

// A headroom compares the planned rate with the limit.
type headroom struct {
	Planned bool    // a rate was planned, and there is a limit
	Times   float64 // the limit, as a multiple of that rate
	P99Ns   *int64  // at that rate; nil = not measured
}

func (s *Sweep) headroom(l *capacity.Limit) (h headroom) {
	if l == nil || s.PlannedRate == 0 || s.Over != "rate" || l.Lower == nil {
		return h
	}
	h.Planned, h.Times = true, *l.Lower/s.PlannedRate
	var p99 []int64
	for _, t := range l.Trials {
		if t.Level == s.PlannedRate && t.Kind == capacity.Full && t.Latency.P99Ns != nil {
			p99 = append(p99, *t.Latency.P99Ns)
		}
	}
	if len(p99) > 0 {
		slices.Sort(p99)
		h.P99Ns = &p99[len(p99)/2]
	}
	return h
}

// windows is the table of all windows of a search: what was measured at each level.
func (s *Sweep) windowTable() *doc.Table {
	if len(s.Saturate) == 0 {
		return nil
	}
	head := []string{"point", s.Over, "window", "acquired/s", "dropped/s"}
	for _, g := range s.Saturate {
		head = append(head, "lost: "+g)
	}
	t := doc.NewTable("Lost: late by the bound, failed, dropped, or not over at the end, of the acquisitions due. "+
		"n/a: too few samples for that percentile.", doc.Numbers(append(head, "p50", "p99", "p99.9", "judged")...)...)
	for series, p := range s.points() {
		if p.Limit == nil {
			continue
		}
		trials := slices.Clone(p.Limit.Trials)
		slices.SortStableFunc(trials, func(a, b capacity.Trial) int { return cmp.Compare(a.Level, b.Level) })
		for _, one := range trials {
			row := []string{s.pointName(series, p), words.Digits3(one.Level), string(one.Kind), number(one.PerS),
				number(one.DroppedPerS)}
			for i := range s.Saturate {
				lost := ""
				if i < len(one.Losses) && one.Losses[i] != nil {
					lost = words.Share(*one.Losses[i])
				}
				row = append(row, lost)
			}
			for _, ns := range []*int64{one.Latency.P50Ns, one.Latency.P99Ns, one.Latency.P999Ns} {
				row = append(row, words.Known(ns, words.Duration))
			}
			t.Add(append(row, judged(one))...)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// judged says what became of a window.
func judged(t capacity.Trial) string {
	switch {
	case t.Reason == capacity.Holds && t.RecoveredNs != nil:
		return "held again after " + words.Duration(*t.RecoveredNs)
	case t.Reason == capacity.Holds:
		return "held"
	}
	return string(t.Reason) + ": " + t.Detail
}

// drops says what was dropped, with the rate that it belongs to: the least at which something was.
func (s *Sweep) drops() []string {
	var all []string
	for series, p := range s.points() {
		if p.Limit == nil {
			continue
		}
		level, most := math.Inf(1), 0.0
		for _, t := range p.Limit.Trials {
			if t.DroppedPerS != nil && *t.DroppedPerS > 0 && t.Kind != capacity.Disturbed && t.Level <= level {
				if t.Level < level {
					most = 0
				}
				level, most = t.Level, max(most, *t.DroppedPerS)
			}
		}
		if most > 0 {
			all = append(all, fmt.Sprintf("%s: arrivals were dropped from %s on, where up to %s a second found %s.",
				s.pointName(series, p), s.amount(&level), words.Digits3(most), s.noPlace()))
		}
	}
	return all
}

// noPlace says what an arrival found that is dropped.
func (s *Sweep) noPlace() string {
	if s.Queue > 0 {
		return fmt.Sprintf("every client busy and the queue of %s full", words.Grouped(int64(s.Queue)))
	}
	return "every client busy (there is no queue)"
}

// searchMethod says how a search came to its answer.
func (s *Sweep) searchMethod() []string {
	if len(s.Saturate) == 0 {
		return nil
	}
	return texts.Lines("method", struct {
		*Sweep
		Goals string
	}{s, s.goals()})
}

// quantiles are what the picture of a search shows of each window.
var quantiles = []struct {
	name  string
	color color.NRGBA
	of    func(capacity.Quantiles) *int64
}{
	{"p50", chart.Blue, func(q capacity.Quantiles) *int64 { return q.P50Ns }},
	{"p99", chart.Green, func(q capacity.Quantiles) *int64 { return q.P99Ns }},
	{"p99.9", chart.Purple, func(q capacity.Quantiles) *int64 { return q.P999Ns }},
}

// windowShapes are how the picture marks the windows of a search.
var windowShapes = []struct {
	name  string
	shape draw.GlyphDrawer
	is    func(capacity.Trial) bool
}{
	{"full window", draw.CircleGlyph{}, func(t capacity.Trial) bool { return t.Kind == capacity.Full && !void(t) }},
	{"short window", draw.RingGlyph{}, func(t capacity.Trial) bool { return t.Kind == capacity.Short && !void(t) }},
	{"void: the load side was the limit", chart.CrossGlyph{}, func(t capacity.Trial) bool {
		return (t.Kind == capacity.Full || t.Kind == capacity.Short) && void(t)
	}},
	{"one server away", draw.TriangleGlyph{}, func(t capacity.Trial) bool { return t.Kind == capacity.Away }},
}

func void(t capacity.Trial) bool { return t.Reason == capacity.Void || t.Reason == capacity.Undecided }

// searchFigure draws the time to get the lock against what was searched for, a point for each window.
func (s *Sweep) searchFigure() chart.Figure {
	f := chart.Figure{Name: "search", Caption: "The time to get the lock against the " + s.Over + ": p50, p99 and " +
		"p99.9, a point for each window. Dashed: the bound. Dotted: the answer. Windows with a disturbance are left out."}
	drawn := chart.Panels{Title: "The time to get the lock against the " + s.Over}
	var all []*plot.Plot
	seen := map[int]bool{}
	for series, point := range s.points() {
		if point.Limit != nil {
			if p := s.windowsPanel(s.pointName(series, point), point.Limit, seen); p != nil {
				all = append(all, p)
			}
		}
	}
	if len(all) == 0 {
		return f
	}
	fitY(chart.LogTime{}, all...)
	for _, q := range quantiles {
		drawn.Keys = append(drawn.Keys, chart.Key{Text: q.name, Thumb: chart.Swatch{Color: q.color}})
	}
	for i, w := range windowShapes {
		if seen[i] {
			drawn.Keys = append(drawn.Keys, chart.Key{Text: w.name,
				Thumb: chart.Trace{Color: chart.Grey, NoLine: true, Shape: w.shape}})
		}
	}
	across := min(len(all), panelColumns/2)
	for part := range slices.Chunk(all, across) {
		drawn.Rows = append(drawn.Rows, append(part, make([]*plot.Plot, across-len(part))...))
	}
	f.Height, f.Draw = drawn.Height(300), drawn.Draw
	return f
}

// windowsPanel draws the windows of one search, and notes which shapes it has; nil if no window has a latency.
func (s *Sweep) windowsPanel(title string, l *capacity.Limit, seen map[int]bool) *plot.Plot {
	p := chart.NewPanel(title)
	p.Add(chart.Grid{Horizontal: true, Vertical: true})
	var levels []float64
	for _, q := range quantiles {
		for i, w := range windowShapes {
			at := chart.Trace{Color: q.color, NoLine: true, Shape: w.shape}
			for _, t := range l.Trials {
				if ns := q.of(t.Latency); ns != nil && w.is(t) {
					at.XYs = append(at.XYs, plotter.XY{X: t.Level, Y: chart.Millis(*ns)})
					levels = append(levels, t.Level)
					seen[i] = true
				}
			}
			if len(at.XYs) > 0 {
				p.Add(at)
			}
		}
	}
	if len(levels) == 0 {
		return nil
	}
	lo, hi := slices.Min(levels), slices.Max(levels)
	p.X.Label.Text = s.Over
	if s.Over == "rate" {
		p.X.Label.Text = "arrivals per second"
	}
	p.X.Min, p.X.Max, p.X.Tick.Marker = 0, hi*1.05, chart.Even{Want: 8}
	if logarithmic(lo, hi) {
		p.X.Min, p.X.Max = chart.FitLog(lo, hi)
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, chart.LogNumber{}
	}
	for _, bound := range s.BoundsNs {
		y := chart.Millis(int64(bound))
		p.Add(chart.Trace{Color: chart.Black, Dashes: chart.Dashed, XYs: plotter.XYs{{X: p.X.Min, Y: y}, {X: p.X.Max, Y: y}}})
	}
	if l.Lower != nil {
		p.Add(chart.Rule{At: *l.Lower, Color: chart.Black, Text: "answer " + words.Digits3(*l.Lower), Bottom: true})
	}
	return p
}
