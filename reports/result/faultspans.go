package result

import (
	"slices"
	"strings"

	"locklab/harness/history"
)

// A FaultSpan is the time of a fault, from its injection to its healing, as the agents stamped it.
type FaultSpan struct {
	ID, Kind string
	Targets  []string
	Span
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
func FaultSpans(events *history.Log) []FaultSpan {
	var all []FaultSpan
	index := map[string]int{}
	end := events.End()
	for _, e := range events.Of(history.OpFaultInject, history.OpFaultHeal) {
		switch {
		case e.Op == history.OpFaultInject && e.Kind == history.OK:
			if _, known := index[e.Fault]; known {
				continue
			}
			index[e.Fault] = len(all)
			step := e.FaultStep()
			all = append(all, FaultSpan{ID: step.ID, Kind: step.Fault, Targets: step.Hosts,
				Span: Span{From: e.At, To: e.At}, Open: true})
		case e.Op == history.OpFaultHeal && e.Kind == history.OK:
			if k, known := index[e.Fault]; known && all[k].Open {
				all[k].To, all[k].Open = e.At, false
			}
		}
	}
	for k := range all {
		if all[k].Open {
			all[k].To = end
		}
	}
	return all
}

// Stops returns, by process, the times for which it was stopped (SIGSTOP).
func Stops(events *history.Log) map[string][]Span {
	by := map[string][]Span{}
	open := map[string]int64{}
	end := events.End()
	for _, e := range events.Of(history.OpProcess) {
		from, stopped := open[e.Process]
		switch {
		case e.ProcessIs(history.ProcessStopped) && !stopped:
			open[e.Process] = e.At
		case !e.ProcessIs(history.ProcessStopped) && stopped:
			by[e.Process] = append(by[e.Process], Span{From: from, To: e.At})
			delete(open, e.Process)
		}
	}
	for p, from := range open {
		by[p] = append(by[p], Span{From: from, To: end})
	}
	return by
}
