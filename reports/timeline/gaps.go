package timeline

import (
	"cmp"
	"slices"

	"locklab/harness/history"
	"locklab/reports/measure"
)

// gaps returns the times without progress: no client got any lock, though one waited for one throughout. Only gaps of
// at least a hundredth of the run, and ten times as long as grants are apart on average, are returned.
func gaps(acq []history.Acquisition, run measure.Span) []measure.Span {
	grants := make([]int64, 0, len(acq)+1) // and the end of the run
	for i := range acq {
		if acq[i].Granted() {
			grants = append(grants, acq[i].Returned)
		}
	}
	slices.Sort(grants)
	if len(grants) < 2 {
		return nil
	}
	usual := (grants[len(grants)-1] - grants[0]) / int64(len(grants)-1)
	least := max((run.To-run.From)/100, 10*usual, 1)
	var all []measure.Span
	last := grants[0]
	for _, at := range append(grants[1:], run.To) {
		if at-last >= least {
			if from := waitedFrom(acq, last, at); from < at && at-from >= least {
				all = append(all, measure.Span{From: from, To: at})
			}
		}
		last = at
	}
	return all
}

// waitedFrom is when the first client asked that then waited until the end of the gap; the gap's end if none did.
func waitedFrom(acq []history.Acquisition, from, to int64) int64 {
	first := to
	for i := range acq {
		a := &acq[i]
		if a.Invoked < first && (a.Returned == history.None || a.Returned >= to) {
			first = max(a.Invoked, from)
		}
	}
	return first
}

// An effect is how long a fault was felt: from its injection until it was healed, the clients made progress again, and
// nothing more was found that it explains.
func effect(f *measure.FaultSpan, gaps []measure.Span, found []measure.Span) measure.Span {
	s := f.Span
	for _, more := range [][]measure.Span{found, gaps} {
		for _, m := range slices.SortedFunc(slices.Values(more), func(a, b measure.Span) int {
			return cmp.Compare(a.From, b.From)
		}) {
			if m.From <= s.To && m.To >= s.From {
				s.To = max(s.To, m.To)
			}
		}
	}
	return s
}
