package reports

import (
	"locklab/harness/history"
)

// A window is the measured part of a run, [From, To).
type window struct {
	From, To int64
	// Measured is false if the run never began to measure; the window is then empty.
	Measured bool
	// Cut is true if the run broke off before the window's end.
	Cut bool
	// End is the time of the history's last event.
	End int64
}

func (w window) contains(t int64) bool { return t != history.None && t >= w.From && t < w.To }

// seconds is the window's wall time.
func (w window) seconds() float64 { return float64(w.To-w.From) / 1e9 }

// measuredWindow finds the measured window in a merged history. A run that
// broke off while measuring is measured up to its last event.
func measuredWindow(events []history.Event) window {
	var w window
	for i := range events {
		e := &events[i]
		w.End = max(w.End, e.At)
		if e.Op != history.OpPhase {
			continue
		}
		switch {
		case e.Detail == history.PhaseMeasure && !w.Measured:
			w.From, w.Measured, w.Cut = e.At, true, true
		case e.Detail != history.PhaseMeasure && w.Measured && w.Cut:
			w.To, w.Cut = e.At, false
		}
	}
	if w.Cut {
		w.To = w.End
	}
	return w
}

// A span is a piece of time.
type span struct{ From, To int64 }

func (s span) overlaps(o span) bool { return s.From < o.To && o.From < s.To }

// A phaseMark is the beginning of a phase.
type phaseMark struct {
	At   int64
	Name string
}

// phaseMarks returns the phases in which clients work.
func phaseMarks(events []history.Event) []phaseMark {
	var marks []phaseMark
	for i := range events {
		e := &events[i]
		if e.Op != history.OpPhase {
			continue
		}
		switch e.Detail {
		case history.PhaseWarmup, history.PhaseMeasure, history.PhaseHeal, history.PhaseLiveness, history.PhaseDrain:
			marks = append(marks, phaseMark{e.At, e.Detail})
		}
	}
	return marks
}
