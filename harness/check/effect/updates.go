package effect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/check/evidence"
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

// appended notes a write to a list that the resource accepted. A writer appends its element to the list as it read it;
// if the list was an earlier one, the write takes away what has been appended since.
func (x *Effects) appended(l *LockEffect, e *history.Event, stale bool) {
	if stale {
		if l.outdated == nil {
			l.outdated = map[int64]bool{}
		}
		l.outdated[e.Access().Value] = true
	}
	last := int64(0)
	if l.lastWrite != nil {
		last = l.lastWrite.Access().Value
	}
	access, was, behind := e.Access(), history.NewBehind(last), last
	if n, err := strconv.ParseInt(access.Behind.Element(), 10, 64); err == nil {
		behind = n
	}
	if access.Behind != "" && access.Behind != was {
		x.overwritten++
		x.note(damage{lock: l, e: e, by: l.lastWrite, lost: l.depth[last] - l.depth[behind], until: history.None,
			finding: x.find(evidence.KindLostUpdate, e, l.lastWrite,
				"%s appended %d to the list as it was behind %s, but it ended with %s by then", e.Client, access.Value,
				access.Behind.Element(), was.Element())})
	}
	l.depth[access.Value] = l.depth[behind] + 1
}

// account compares the elements that clients appended with the final lists, which were read when all clients were done
// (Jepsen's set-full, with one read after all writes):
//
//   - lost: acknowledged, but missing;
//   - duplicated: there more than once;
//   - unexpected: there, though no client appended it, or it was refused to the client that did;
//   - misplaced: not where the resource appended it, by its own record.
//
// An element whose writer never learned the outcome may be there or not. In a history that is not complete, the append
// of an element may be missing, so none is unexpected.
func (x *Effects) account(final map[string][]int64, whole bool) {
	for _, lock := range evidence.SortedKeys(x.Locks) {
		l := x.Locks[lock]
		list, read := final[lock]
		x.unknown += l.invoked - l.acknowledged - l.refused
		if !read {
			if final != nil && l.invoked > 0 {
				x.unread++
			}
			continue
		}
		x.final += int64(len(list))
		times := make(map[int64]int64, len(list))
		for _, element := range list {
			times[element]++
			at := &history.Event{Lock: lock}
			said := l.elements[element]
			switch {
			case times[element] == 2:
				x.duplicated++
				x.find("duplicated", at, said, "element %d is there more than once", element)
			case times[element] > 2 || !whole:
			case said == nil:
				x.unexpected++
				x.find("unexpected", at, nil, "element %d is there, though no client appended it", element)
			case said.Kind == history.Fail:
				x.unexpected++
				x.find("unexpected", at, said, "element %d is there, though it was refused to %s", element, said.Client)
			}
		}
		for _, element := range evidence.SortedKeys(l.elements) {
			if said := l.elements[element]; said.Kind == history.OK && times[element] == 0 {
				x.lost++
				l.lost++
				whose := ", which was outdated"
				if !l.outdated[element] {
					x.lostOfOthers++
					whose = ""
				}
				x.find("lost-element", said, nil, "element %d was acknowledged to %s%s, but is missing in the end", element,
					said.Client, whose)
			}
		}
		for i, element := range list { // of which the first says all
			if at := l.depth[element]; l.lost == 0 && whole && times[element] == 1 &&
				at != 0 && at != int64(i+1) {
				x.miscounted++
				x.find("misplaced", &history.Event{Lock: lock}, l.elements[element], "element %d is number %d of the final list, "+
					"and the resource had appended it as number %d", element, i+1, at)
				break
			}
		}
		if missing := l.acknowledged - l.accepted; missing > 0 && whole {
			x.miscounted += missing
			x.find(evidence.KindAccounting, &history.Event{Lock: lock}, nil,
				"clients have %s acknowledged, the resource's record has %d",
				evidence.Count(l.acknowledged, "element", "elements"), l.accepted)
		}
	}
	x.miscounted += x.duplicated + x.unexpected
}
