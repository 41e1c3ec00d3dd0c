package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/check/evidence"
	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

// Failovers are the failovers of a point after faults of one kind and target, over all of its runs. What a failover is,
// and what is left out, is told at [result.Failover].
type Failovers struct {
	Of string `json:"of"` // the faults, such as "kill leader"
	// Faults is how many faults the samples are of. One that struck the holders of several locks, or the servers of
	// several locks, has a sample for each, and these are not independent.
	Faults int `json:"faults"`
	// TookNs are the failovers that came to their end, and CensoredNs those that took at least so long; both ascend.
	TookNs     []int64 `json:"took_ns"`
	CensoredNs []int64 `json:"censored_ns"`
	// The percentiles are of all samples, the censored ones as if they had ended then. One that is not below the
	// shortest censored sample is a lower limit. It is null if there are too few samples.
	MinNs *int64 `json:"min_ns"`
	P50Ns *int64 `json:"p50_ns"`
	P90Ns *int64 `json:"p90_ns"`
	MaxNs *int64 `json:"max_ns"`
	// LeftOut counts what is not among the samples, by reason.
	LeftOut map[result.FailoverLeftOut]int `json:"left_out"`
	// Predicted is null where there is no theory.
	Predicted *Band `json:"predicted"`

	servers bool
}

// A Band is where failovers are expected.
type Band struct {
	FromNs int64  `json:"from_ns"`
	ToNs   *int64 `json:"to_ns"` // null = theory gives no upper limit
	By     string `json:"by"`    // what decides it
}

// failoversOf collects the failovers of a point's runs, by what the faults were, in the order of these texts.
func failoversOf(all []*result.Result, s Setting) []Failovers {
	byOf := map[string]*Failovers{}
	for _, r := range all {
		faults := map[string]bool{}
		for _, f := range r.Failovers {
			g := byOf[f.Of]
			if g == nil {
				g = &Failovers{Of: f.Of, servers: f.Servers, TookNs: []int64{}, CensoredNs: []int64{},
					LeftOut: map[result.FailoverLeftOut]int{}}
				byOf[f.Of] = g
			}
			switch {
			case f.TookNs == nil:
				g.LeftOut[f.LeftOut]++
				continue
			case f.Censored:
				g.CensoredNs = append(g.CensoredNs, *f.TookNs)
			default:
				g.TookNs = append(g.TookNs, *f.TookNs)
			}
			if !faults[f.Of+f.Fault] {
				faults[f.Of+f.Fault] = true
				g.Faults++
			}
		}
	}
	var groups []Failovers
	for _, of := range slices.Sorted(maps.Keys(byOf)) {
		g := byOf[of]
		slices.Sort(g.TookNs)
		slices.Sort(g.CensoredNs)
		g.MinNs, g.P50Ns, g.P90Ns, g.MaxNs = g.at(0), g.at(50), g.at(90), g.at(100)
		g.Predicted = predictFailover(of, g.servers, s)
		groups = append(groups, *g)
	}
	return groups
}

// samples returns all samples in ascending order.
func (f *Failovers) samples() []int64 {
	return slices.Sorted(slices.Values(slices.Concat(f.TookNs, f.CensoredNs)))
}

// at returns the percentile p by the nearest rank; nil if there are too few samples.
func (f *Failovers) at(p float64) *int64 {
	all := f.samples()
	n := len(all)
	if n == 0 || p > 0 && p < 100 && !measure.EnoughSamples(p, int64(n)) {
		return nil
	}
	return &all[max(int(math.Ceil(p/100*float64(n)))-1, 0)]
}

// show writes a percentile, with ≥ where it is a lower limit.
func (f *Failovers) show(ns *int64) string {
	if ns != nil && len(f.CensoredNs) > 0 && f.CensoredNs[0] <= *ns {
		return "≥ " + words.Duration(*ns)
	}
	return words.Known(ns, words.Duration)
}

// electionWait is for how long a server that has a majority for its vote waits for a better one (finalizeWait of
// FastLeaderElection).
const electionWait = 200 * time.Millisecond

// predictFailover returns where failovers after a fault are expected; nil if no theory says so, or if the setting does
// not say what it needs.
//
// A client process that falls silent keeps its locks until its session expires, see [evidence.Expiry]; the hand-off
// after that takes milliseconds. A leader that dies is missed at once, because its connections are reset. One that is
// cut off is missed when its followers have heard nothing for syncLimit ticks; they heard the last ping up to half a
// tick before. Then there is an election.
func predictFailover(of string, servers bool, s Setting) *Band {
	kind, target, _ := strings.Cut(of, " ")
	switch {
	case s.Timeout == 0 || s.Tick == 0:
		return nil
	case !servers && (slices.Contains([]string{"kill", "pause", "crash-loop"}, kind) ||
		kind == "partition" && strings.HasSuffix(target, " from servers")):
		e := evidence.Expiry{Timeout: s.Timeout, Tick: s.Tick}
		return &Band{FromNs: int64(e.Earliest()), ToNs: new(int64(e.Latest())), By: "a session's expiry"}
	case of == "kill leader" || of == "rolling-restart all":
		return &Band{FromNs: int64(electionWait), By: "an election"}
	case of == "partition leader from servers" && s.SyncLimit > 0:
		missed := time.Duration(s.SyncLimit)*s.Tick - s.Tick/2
		return &Band{FromNs: int64(missed + electionWait), By: "sync-limit ticks, and an election"}
	}
	return nil
}

// String is the band in words.
func (b *Band) String() string {
	switch {
	case b == nil:
		return words.Absent
	case b.ToNs == nil:
		return "≥ " + words.Duration(b.FromNs)
	}
	return words.Duration(b.FromNs) + "–" + words.Duration(*b.ToNs)
}

// failoverKinds returns what the faults were whose failovers were measured, at any point.
func (s *Sweep) failoverKinds() []string {
	var all []string
	for _, p := range s.points() {
		for i := range p.Failovers {
			if f := &p.Failovers[i]; len(f.samples()) > 0 && !slices.Contains(all, f.Of) {
				all = append(all, f.Of)
			}
		}
	}
	slices.Sort(all)
	return all
}

// failover returns the point's failovers after a fault; nil if there are none.
func (p *Point) failover(of string) *Failovers {
	i := slices.IndexFunc(p.Failovers, func(f Failovers) bool { return f.Of == of })
	if i < 0 {
		return nil
	}
	return &p.Failovers[i]
}

// failoverTable is the failovers of all points; nil if none has any.
func (s *Sweep) failoverTable() *doc.Table {
	var head []string
	for _, p := range s.Params {
		head = append(head, p.Key)
	}
	head = append(head, "failover after", "faults", "samples", "censored", "left out", "min", "p50", "p90", "max",
		"predicted")
	t := doc.NewTable("How long nobody got the lock after a fault, over all runs of a point. After a fault of the "+
		"holder’s process: from the fault to the next grant. After a fault of servers: the longest time in which nobody "+
		"held the lock. Censored: it was not over by the end of the run, or when the servers were brought back; then "+
		"there is a ≥. n/a: too few samples.", doc.Numbers(head...)...)
	for _, p := range s.points() {
		for i := range p.Failovers {
			f := &p.Failovers[i]
			var row []string
			for _, param := range s.Params {
				row = append(row, cmp.Or(p.Values[param.Key], "–"))
			}
			left := 0
			for _, n := range f.LeftOut {
				left += n
			}
			t.Add(append(row, f.Of, strconv.Itoa(f.Faults), strconv.Itoa(len(f.samples())),
				strconv.Itoa(len(f.CensoredNs)), strconv.Itoa(left), f.show(f.MinNs), f.show(f.P50Ns), f.show(f.P90Ns),
				f.show(f.MaxNs), f.Predicted.String())...)
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// failoverNotes say what was left out of the failovers, and by what those that are predicted are.
func (s *Sweep) failoverNotes() []string {
	left := map[result.FailoverLeftOut]int{}
	by := map[string]string{}
	for _, p := range s.points() {
		for _, f := range p.Failovers {
			for why, n := range f.LeftOut {
				left[why] += n
			}
			if f.Predicted != nil {
				by[f.Of] = f.Predicted.By
			}
		}
	}
	var all []string
	for _, of := range slices.Sorted(maps.Keys(by)) {
		all = append(all, "failover after “"+of+"” is predicted by "+by[of])
	}
	var reasons []string
	for _, why := range slices.Sorted(maps.Keys(left)) {
		reasons = append(reasons, fmt.Sprintf("%d (%s)", left[why], why))
	}
	if len(reasons) > 0 {
		all = append(all, "failovers left out: "+strings.Join(reasons, ", "))
	}
	return all
}

// failoverHeadlines says for each kind of fault where failovers took least and most.
func (s *Sweep) failoverHeadlines() []string {
	var all []string
	for _, of := range s.failoverKinds() {
		var least, most *Failovers
		var at [2]string
		for series, p := range s.points() {
			f := p.failover(of)
			if f == nil || f.P50Ns == nil {
				continue
			}
			if least == nil || *f.P50Ns < *least.P50Ns {
				least, at[0] = f, s.pointName(series, p)
			}
			if most == nil || *f.P50Ns > *most.P50Ns {
				most, at[1] = f, s.pointName(series, p)
			}
		}
		switch {
		case least == nil:
			all = append(all, fmt.Sprintf("After “%s”: too few samples for a median.", of))
		case least == most:
			all = append(all, fmt.Sprintf("After “%s”, nobody got the lock for %s (median), and %s at most.", of,
				least.show(least.P50Ns), least.show(least.MaxNs)))
		default:
			all = append(all, fmt.Sprintf("After “%s”, nobody got the lock for %s (median; %s at most) at %s, and for "+
				"%s (%s at most) at %s.", of, least.show(least.P50Ns), least.show(least.MaxNs), at[0], most.show(most.P50Ns),
				most.show(most.MaxNs), at[1]))
		}
	}
	return all
}

// failoverFigure draws every sample of the failovers against the load, a panel for each kind of fault.
func (s *Sweep) failoverFigure() chart.Figure {
	f := chart.Figure{Name: "failover", Caption: "How long nobody got the lock after a fault. A dot is a failover, a " +
		"triangle one that took at least so long; the line joins the medians. Dashed: the least and, where theory has " +
		"one, the most that is predicted."}
	kinds := s.failoverKinds()
	if len(kinds) == 0 || s.Load == "" {
		return f
	}
	across := min(len(kinds), 2)
	drawn := chart.Panels{Title: "Failover against " + s.Load, Keys: s.failoverLegend(kinds)}
	for of := range slices.Chunk(kinds, across) {
		row := make([]*plot.Plot, across)
		for i, kind := range of {
			row[i] = s.failoverPanel(kind, chart.PictureWidth/vg.Length(across)-50)
		}
		drawn.Rows = append(drawn.Rows, row)
	}
	f.Height, f.Draw = drawn.Height(wideHeight), drawn.Draw
	return f
}

// failoverPanel draws the failovers after one kind of fault. The samples of several series stand beside each other.
func (s *Sweep) failoverPanel(of string, width vg.Length) *plot.Plot {
	p := chart.NewPanel("after " + of)
	p.Add(chart.Grid{Horizontal: true})
	for n := range s.Series {
		series := &s.Series[n]
		ended, cut, median := chart.SeriesTrace(n), chart.SeriesTrace(n), chart.SeriesTrace(n)
		least := chart.Trace{Color: chart.SeriesTrace(n).Color, Dashes: chart.Dashed}
		most := least
		ended.NoLine, cut.NoLine, median.Shape = true, true, nil
		ended.Shape, cut.Shape = draw.CircleGlyph{}, draw.PyramidGlyph{}
		for i := range series.Points {
			f := series.Points[i].failover(of)
			if f == nil {
				continue
			}
			at := series.Points[i].Load
			add := func(to *chart.Trace, all ...int64) {
				for _, ns := range all {
					to.XYs = append(to.XYs, plotter.XY{X: s.beside(at, n), Y: float64(ns) / 1e9})
				}
			}
			add(&ended, f.TookNs...)
			add(&cut, f.CensoredNs...)
			if f.P50Ns != nil {
				add(&median, *f.P50Ns)
			}
			if b := f.Predicted; b != nil {
				add(&least, b.FromNs)
				if b.ToNs != nil {
					add(&most, *b.ToNs)
				}
			}
		}
		for _, t := range []chart.Trace{least, most, median, ended, cut} {
			if len(t.XYs) > 0 {
				p.Add(t)
			}
		}
	}
	s.loadAxis(p, width)
	fitY(nil, p)
	p.Y.Label.Text = "seconds"
	return p
}

// beside is where the samples of the n-th series at a load are drawn, so that they do not cover those of the others.
func (s *Sweep) beside(load float64, n int) float64 {
	lo, hi := s.loadRange()
	share := (float64(n) - float64(len(s.Series)-1)/2) / 60 // of the axis
	if logarithmic(lo, hi) {
		return load * math.Pow(hi/lo, share)
	}
	return load + share*(hi-lo)
}

// loadRange returns the lowest and the highest load.
func (s *Sweep) loadRange() (lo, hi float64) {
	first := true
	for _, p := range s.points() {
		if first {
			lo, hi, first = p.Load, p.Load, false
		}
		lo, hi = min(lo, p.Load), max(hi, p.Load)
	}
	return lo, hi
}

// failoverLegend explains the series, and what is predicted of them.
func (s *Sweep) failoverLegend(kinds []string) (keys []chart.Key) {
	for n := range s.Series {
		t := chart.SeriesTrace(n)
		t.Shape = draw.CircleGlyph{}
		text := s.Series[n].Name
		if text == "" {
			text = "measured"
		}
		keys = append(keys, chart.Key{Text: text, Thumb: t})
	}
	for _, p := range s.points() {
		if slices.ContainsFunc(p.Failovers, func(f Failovers) bool { return f.Predicted != nil }) {
			return append(keys, chart.Key{Text: "predicted", Thumb: chart.Trace{Color: chart.Grey, Dashes: chart.Dashed}})
		}
	}
	return keys
}
