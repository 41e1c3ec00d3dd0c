package runpage

import (
	"slices"
	"strings"

	"locklab/harness/history"
	"locklab/reports/result"
)

// A faultSpan is the time of a fault, from its injection to its healing, as the agents stamped it.
type faultSpan struct {
	ID, Kind string
	Targets  []string
	result.Span
	Open bool // never healed: it lasted to the end of the history
}

// Label names the fault for a picture.
func (f faultSpan) Label() string {
	label := f.Kind
	if len(f.Targets) > 0 && len(f.Targets) <= 3 {
		label += " " + strings.Join(f.Targets, ", ")
	}
	return label
}

// hits reports whether the fault hit the host.
func (f faultSpan) hits(host string) bool {
	return slices.Contains(f.Targets, host)
}

// faultSpans returns the faults that were injected, in that order.
func faultSpans(events *history.Log) []faultSpan {
	var all []faultSpan
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
			all = append(all, faultSpan{ID: step.ID, Kind: step.Fault, Targets: step.Hosts,
				Span: result.Span{From: e.At, To: e.At}, Open: true})
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

// stops returns, by process, the times for which it was stopped (SIGSTOP).
func stops(events *history.Log) map[string][]result.Span {
	by := map[string][]result.Span{}
	open := map[string]int64{}
	end := events.End()
	for _, e := range events.Of(history.OpProcess) {
		from, stopped := open[e.Process]
		switch {
		case e.ProcessIs(history.ProcessStopped) && !stopped:
			open[e.Process] = e.At
		case !e.ProcessIs(history.ProcessStopped) && stopped:
			by[e.Process] = append(by[e.Process], result.Span{From: from, To: e.At})
			delete(open, e.Process)
		}
	}
	for p, from := range open {
		by[p] = append(by[p], result.Span{From: from, To: end})
	}
	return by
}
