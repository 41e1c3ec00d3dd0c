package reports

import "locklab/harness/history"

// beliefs says how long clients believed that they held a lock. It keeps to the
// rule of harness/check: in a history that is not complete a belief is known to
// have lasted only until the last that was heard of its process.
type beliefs struct {
	end     int64
	horizon map[string]int64 // by process; nil if the history is complete
}

func newBeliefs(in Input) beliefs {
	var b beliefs
	whole := false
	for i := range in.Events {
		e := &in.Events[i]
		b.end = max(b.end, e.At)
		if e.Op == history.OpEnd {
			whole = e.Detail == history.EndComplete
		}
	}
	if whole && !in.Meta.Partial {
		return b
	}
	b.horizon = map[string]int64{}
	for i := range in.Events {
		b.horizon[in.Events[i].Process] = in.Events[i].At
	}
	return b
}

// until is when the client is known to have believed last.
func (b beliefs) until(a *history.Acquisition) int64 {
	end := b.end
	if h, ok := b.horizon[a.Process]; ok {
		end = h
	}
	return a.BelievedUntil(end)
}

// unsure reports whether the belief may have lasted longer than until says.
func (b beliefs) unsure(a *history.Acquisition) bool {
	return b.horizon != nil && b.until(a) < b.end &&
		a.ReleaseInvoked == history.None && a.Lost == history.None && a.Died == history.None
}
