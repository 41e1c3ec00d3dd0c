package effect

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/history"
)

// An updateTrace follows one lock's counter through the writes that the resource accepted. A writer adds one to what
// it read, so its write contains the updates that were there when it read, and no others. What the last write does not
// contain is lost. So the trace tells whose updates were lost, which the counter's value does not.
//
// The zero value is a counter that was not written.
type updateTrace struct {
	writes []update
	// from has the number of writes that a writer saw when it read, for those that did not see all the earlier ones.
	from map[int]int
	// reads has the number of writes that each hold saw and has not yet followed by a write.
	reads map[holdKey]int
	// stale are the writes whose token was outdated.
	stale map[int]bool
	// broken says that the trace proves nothing, because a write does not fit what its hold read.
	broken bool
}

// An update is a write of a counter.
type update struct {
	value, at int64
	client    string
	n         int64 // of the acquisition
	session   history.SessionID
}

// serve notes an access that the resource accepted.
func (t *updateTrace) serve(e *history.Event, stale bool) {
	switch e.Op {
	case history.OpRead:
		if t.reads == nil {
			t.reads = map[holdKey]int{}
		}
		t.reads[keyOf(e)] = len(t.writes)
	case history.OpWrite:
		saw, read := t.reads[keyOf(e)]
		delete(t.reads, keyOf(e))
		value := int64(0)
		if saw > 0 {
			value = t.writes[saw-1].value
		}
		if !read || e.Access().Value != value+1 {
			t.broken = true
		}
		if saw < len(t.writes) {
			if t.from == nil {
				t.from = map[int]int{}
			}
			t.from[len(t.writes)] = saw
		}
		if stale {
			if t.stale == nil {
				t.stale = map[int]bool{}
			}
			t.stale[len(t.writes)] = true
		}
		t.writes = append(t.writes, update{e.Access().Value, e.At, e.Client, e.Acq, e.Session})
	case history.OpExit:
		delete(t.reads, keyOf(e))
	}
}

// lost returns the updates that the last write does not contain, in the order in which they were made. It is not ok if
// they are not n, or if the record does not tell.
func (t *updateTrace) lost(n int64) (lost lostUpdates, ok bool) {
	for k := len(t.writes) - 1; k >= 0; k-- {
		saw, late := t.from[k]
		if !late {
			continue
		}
		for missed := k - 1; missed >= saw; missed-- {
			if t.stale[missed] {
				lost.outdated = append(lost.outdated, t.writes[missed])
			} else {
				lost.ofOthers = append(lost.ofOthers, t.writes[missed])
			}
		}
		k = saw
	}
	slices.Reverse(lost.outdated)
	slices.Reverse(lost.ofOthers)
	return lost, !t.broken && int64(len(lost.outdated)+len(lost.ofOthers)) == n
}

// lostUpdates are writes that were lost: those whose own token was outdated when they were made, and those of other
// clients.
type lostUpdates struct{ outdated, ofOthers []update }

// String says whose they were, in words that continue a sentence.
func (l lostUpdates) String() string {
	var parts []string
	for _, part := range [...]struct {
		writes []update
		what   string
	}{{l.ofOthers, "by clients that were not outdated"}, {l.outdated, "by clients that were outdated"}} {
		if len(part.writes) == 0 {
			continue
		}
		var clients []string
		for _, e := range part.writes {
			if !slices.Contains(clients, e.client) {
				clients = append(clients, e.client)
			}
		}
		parts = append(parts, fmt.Sprintf("%d %s (%s)", len(part.writes), part.what, strings.Join(clients, ", ")))
	}
	return strings.Join(parts, " and ")
}
