package effect

import (
	"strconv"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

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
//   - unexpected: there, though no client appended it, or it was refused to the client that did.
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
		if missing := l.acknowledged - l.accepted; missing > 0 && whole {
			x.miscounted += missing
			x.find(evidence.KindAccounting, &history.Event{Lock: lock}, nil,
				"clients have %s acknowledged, the resource's record has %d",
				evidence.Count(l.acknowledged, "element", "elements"), l.accepted)
		}
	}
	x.miscounted += x.duplicated + x.unexpected
}
