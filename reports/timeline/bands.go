package timeline

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/check"
	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/reports/chart"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// Bands is a plotter that shades and names the faults, and marks where phases begin. The x axis is seconds of the
// run.
type Bands struct {
	Faults []measure.FaultSpan
	Phases []measure.PhaseMark
}

// The names of phases and faults are above the data.
const (
	bandRow  = 12
	bandRows = 3
)

// Plot implements plot.Plotter.
func (b Bands) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	inside := func(v vg.Length) vg.Length { return min(max(v, c.Min.X), c.Max.X) }
	style := chart.TextStyle(chart.SmallSize, chart.Grey)
	var labels []chart.Label
	for _, f := range b.Faults {
		from, to := inside(x(chart.Seconds(f.From))), inside(x(chart.Seconds(f.Until)))
		if to <= c.Min.X || from >= c.Max.X {
			continue
		}
		chart.FillRect(&c, from, max(to, from+1), c.Min.Y, c.Max.Y, chart.Shade)
		labels = append(labels, chart.Label{X: from, Text: f.Label()})
	}
	for _, m := range b.Phases {
		at := x(chart.Seconds(m.At))
		if !c.ContainsX(at) {
			continue
		}
		c.StrokeLine2(draw.LineStyle{Color: chart.Grey, Width: 0.7, Dashes: []vg.Length{2, 2}}, at, c.Min.Y, at, c.Max.Y)
		labels = append(labels, chart.Label{X: at, Text: m.Name})
	}
	placed, _ := chart.Place(labels, style, c.Min.X, c.Max.X, bandRows)
	for _, l := range placed {
		l.Write(&c, style, c.Max.Y-bandRow*(vg.Length(l.Row)+0.5))
	}
}

// newBeliefs returns until when the clients of a run believed that they held locks.
func newBeliefs(in result.Input) history.Beliefs {
	whole := false
	for _, e := range in.Events.Of(history.OpEnd) {
		whole = e.Ending() == history.EndComplete
	}
	return history.NewBeliefs(in.Events, whole && !in.Partial)
}

// unsure reports whether a belief may have lasted longer than is known.
func unsure(b history.Beliefs, a *history.Acquisition) bool {
	return b.Horizon != nil && b.BelievedUntil(a) < b.End &&
		a.ReleaseInvoked == history.None && a.Lost == history.None && a.Died == history.None
}

// servedSpans returns which clients held the lock during s by the servers' transaction logs; nil if the logs were not
// read. Clients that held it at the same time are in different rows.
func servedSpans(rep check.Report, lock string, s spans.Span, end int64) []ownedSpan {
	if rep.ServerHolds == nil {
		return nil
	}
	all := []ownedSpan{}
	var until []int64 // the end of the last span in each row
	for _, t := range rep.ServerHolds.Locks[lock] {
		o := ownedSpan{Span: spans.Span{From: t.From, Until: min(t.Until, end)}, Client: t.Client}
		if !o.Overlaps(s) {
			continue
		}
		for o.Row < len(until) && until[o.Row] > o.From {
			o.Row++
		}
		if o.Row == len(until) {
			until = append(until, 0)
		}
		until[o.Row] = o.Until
		all = append(all, o)
	}
	return all
}

// servedUntil returns when a hold's znode was gone by the servers' logs although its owner had not released it; false
// if the logs do not say so.
func servedUntil(rep check.Report, a *history.Acquisition) (int64, bool) {
	if rep.ServerHolds == nil {
		return 0, false
	}
	for _, t := range rep.ServerHolds.Locks[a.Lock] {
		if t.Session == a.Session && t.Token == a.Token && t.Last != 0 && t.Until >= a.Invoked {
			return t.Until, a.ReleaseInvoked == history.None || a.ReleaseInvoked > t.Until
		}
	}
	return 0, false
}
