package timeline

import (
	"locklab/harness/history"
	"locklab/reports/result"
)

// beliefs says for how long clients believed that they held a lock. As in harness/check, a belief in a history that
// is not complete is known to have lasted until the last event of its process only.
type beliefs struct {
	end     int64
	horizon map[string]int64 // by process; nil if the history is complete
}

func newBeliefs(in result.Input) beliefs {
	var b beliefs
	whole := false
	b.end = max(b.end, in.Events.End())
	for _, e := range in.Events.Of(history.OpEnd) {
		whole = e.Ending() == history.EndComplete
	}
	if whole && !in.Partial {
		return b
	}
	b.horizon = map[string]int64{}
	for _, e := range in.Events.All() {
		b.horizon[e.Process] = e.At
	}
	return b
}

// until is the last time at which the client is known to have believed.
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
