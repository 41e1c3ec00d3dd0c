package measure

import (
	"cmp"
	"slices"
	"strings"

	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// An Interval is the measured part of a run, [From, Until).
type Interval struct {
	From, Until int64
	// Measured is false if the run never began to measure; the window is then empty.
	Measured bool
	// Cut is true if the run broke off before the window's end.
	Cut bool
	// End is the time of the history's last event.
	End int64
}

// Contains reports whether t is in the window.
func (w Interval) Contains(t int64) bool { return t != history.None && t >= w.From && t < w.Until }

// Seconds is the window's wall time.
func (w Interval) Seconds() float64 { return float64(w.Until-w.From) / 1e9 }

// MeasuredWindow returns the measured window of a merged history. If the run broke off within it, it ends with the
// last event.
func MeasuredWindow(events *history.Log) Interval {
	var w Interval
	w.End = max(w.End, events.End())
	for _, e := range events.Of(history.OpPhase) {
		switch {
		case e.Phase() == history.PhaseMeasure && !w.Measured:
			w.From, w.Measured, w.Cut = e.At, true, true
		case e.Phase() != history.PhaseMeasure && w.Measured && w.Cut:
			w.Until, w.Cut = e.At, false
		}
	}
	if w.Cut {
		w.Until = w.End
	}
	return w
}

// A PhaseMark is the beginning of a phase.
type PhaseMark struct {
	At   int64
	Name string
}

// PhaseMarks returns the phases in which clients work.
func PhaseMarks(events *history.Log) []PhaseMark {
	var marks []PhaseMark
	for _, e := range events.Of(history.OpPhase) {
		switch e.Phase() {
		case history.PhaseWarmup, history.PhaseMeasure, history.PhaseHeal, history.PhaseLiveness, history.PhaseDrain:
			marks = append(marks, PhaseMark{e.At, string(e.Phase())})
		}
	}
	return marks
}

// A FaultSpan is the time of a fault, from its injection to its healing, as the agents stamped it.
type FaultSpan struct {
	ID, Kind string
	Targets  []string
	spans.Span
	Open bool // never healed: it lasted to the end of the history
}

// Label names the fault for a picture.
func (f FaultSpan) Label() string {
	label := f.Kind
	if len(f.Targets) > 0 && len(f.Targets) <= 3 {
		label += " " + strings.Join(f.Targets, ", ")
	}
	return label
}

// Hits reports whether the fault hit the host.
func (f FaultSpan) Hits(host string) bool {
	return slices.Contains(f.Targets, host)
}

// FaultSpans returns the faults that were injected, in that order.
func FaultSpans(events *history.Log) (all []FaultSpan) {
	for _, f := range history.Faults(events) {
		if f.Injected == history.None {
			continue
		}
		span := FaultSpan{ID: f.ID, Kind: f.Kind, Targets: f.Hosts, Span: spans.Span{From: f.Injected, Until: f.Healed}}
		if span.Open = f.Healed == history.None; span.Open {
			span.Until = events.End()
		}
		all = append(all, span)
	}
	slices.SortStableFunc(all, func(a, b FaultSpan) int { return cmp.Compare(a.From, b.From) })
	return all
}

// Stops returns, by process, the times for which it was stopped (SIGSTOP).
func Stops(events *history.Log) map[string][]spans.Span {
	by := map[string][]spans.Span{}
	open := map[string]int64{}
	end := events.End()
	for _, e := range events.Of(history.OpProcess) {
		from, stopped := open[e.Process]
		switch {
		case e.ProcessIs(history.ProcessStopped) && !stopped:
			open[e.Process] = e.At
		case !e.ProcessIs(history.ProcessStopped) && stopped:
			by[e.Process] = append(by[e.Process], spans.Span{From: from, Until: e.At})
			delete(open, e.Process)
		}
	}
	for p, from := range open {
		by[p] = append(by[p], spans.Span{From: from, Until: end})
	}
	return by
}
