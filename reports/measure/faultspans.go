package measure

import (
	"cmp"
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
func FaultSpans(events *history.Log) (all []FaultSpan) {
	for _, f := range history.Faults(events) {
		if f.Injected == history.None {
			continue
		}
		span := FaultSpan{ID: f.ID, Kind: f.Kind, Targets: f.Hosts, Span: Span{From: f.Injected, To: f.Healed}}
		if span.Open = f.Healed == history.None; span.Open {
			span.To = events.End()
		}
		all = append(all, span)
	}
	slices.SortStableFunc(all, func(a, b FaultSpan) int { return cmp.Compare(a.From, b.From) })
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
