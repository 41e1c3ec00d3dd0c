package timeline

import (
	"cmp"
	"maps"
	"slices"

	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/words"
)

// An overview is what a timeline of the whole run has besides its lanes.
type overview struct {
	Gaps  []spans.Span // in which no client got a lock, though one waited
	Found []int64      // when each finding began
	Parts []Timeline   // the timelines of parts of the run, in the order of their numbers
}

// overviewSteps is into how many steps an overview divides a run.
const overviewSteps = 160

// A share is a time in which a client held locks for some part of it.
type share struct {
	spans.Span
	Level int // 1 to len(shareLevels)
}

// shareLevels are the upper ends of the levels of shares, and how strongly each level is drawn.
var shareLevels = [...]struct{ most, strength float64 }{{0.05, 0.4}, {0.25, 0.7}, {1, 1}}

// NewOverview returns a timeline of a whole run: who held locks how much of the time, all faults, and the gaps without
// progress. It is for a run that has several parts to show.
func NewOverview(in result.Input, faults []measure.FaultSpan, parts []Timeline) Timeline {
	from, to := RunExtent(in)
	t := Timeline{Scene: Scene{Span: spans.Span{From: int64(from * 1e9), Until: int64(to * 1e9)},
		Title: "The whole run: who held, faults, and gaps without progress"}, Faults: faults,
		colors: NewPalette(in), Modes: map[history.Mode]bool{}}
	t.Overview = &overview{Gaps: gaps(in.Acquisitions, t.Span), Parts: parts}
	for i := range in.Report.Checks {
		for _, f := range in.Report.Checks[i].Findings {
			if f.Lock != "" && len(f.Clients) > 0 {
				t.Overview.Found = append(t.Overview.Found, f.At)
			}
		}
	}
	slices.Sort(t.Overview.Found)
	names := slices.Collect(maps.Keys(t.colors))
	t.colors.Order(names)
	t.Hidden = max(0, len(names)-2*maxLanes)
	names = names[:len(names)-t.Hidden]
	index := map[string]int{}
	held := make([][]int64, len(names))
	for i, c := range names {
		index[c] = i
		held[i] = make([]int64, overviewSteps)
	}
	ends := newBeliefs(in)
	step := max(t.Lasts()/overviewSteps, 1)
	for i := range in.Acquisitions {
		a := &in.Acquisitions[i]
		k, shown := index[a.Client]
		if !shown || !a.Granted() {
			continue
		}
		at, until := max(a.Returned, t.From), min(ends.BelievedUntil(a), t.Until)
		for n := (at - t.From) / step; n < overviewSteps && at < until; n++ {
			next := min(until, t.From+(n+1)*step)
			held[k][n] += next - at
			at = next
		}
	}
	stopped := measure.Stops(in.Events)
	for i, c := range names {
		t.Lanes = append(t.Lanes, Lane{Client: c, Color: t.colors.Color(c), Stopped: stopped[history.HostOf(c)],
			Shares: shares(held[i], t.From, step)})
	}
	return t
}

// shares turns the time held in each step into shares. Steps of one level are one share.
func shares(held []int64, from, step int64) (all []share) {
	for n, ns := range held {
		if ns == 0 {
			continue
		}
		level := 1
		for level < len(shareLevels) && float64(ns) > shareLevels[level-1].most*float64(step) {
			level++
		}
		s := share{spans.Span{From: from + int64(n)*step, Until: from + int64(n+1)*step}, level}
		if k := len(all) - 1; k >= 0 && all[k].Until == s.From && all[k].Level == level {
			all[k].Until = s.Until
			continue
		}
		all = append(all, s)
	}
	return all
}

// rows returns the names of the rows below the clients.
func (o *overview) rows() []string {
	if len(o.Found) == 0 {
		return []string{gapsName}
	}
	return []string{gapsName, foundName}
}

// longestGap says how long the longest gap without progress was; "" without one.
func (o *overview) longestGap() string {
	if len(o.Gaps) == 0 {
		return ""
	}
	longest := slices.MaxFunc(o.Gaps, func(a, b spans.Span) int { return cmp.Compare(a.Lasts(), b.Lasts()) })
	return words.Duration(longest.Lasts())
}

// RunExtent is the x axis of pictures of the whole run: from the first attempt to the last event, in seconds.
func RunExtent(in result.Input) (lo, hi float64) {
	first := in.Window.End
	for i := range in.Acquisitions {
		first = min(first, in.Acquisitions[i].Invoked)
	}
	if in.Window.Measured {
		first = min(first, in.Window.From)
	}
	lo, hi = chart.Seconds(first), chart.Seconds(in.Window.End)
	if hi <= lo {
		hi = lo + 1
	}
	return lo, hi
}
