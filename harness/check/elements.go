package check

import (
	"fmt"

	"locklab/harness/history"
)

// appended notes a write of a list that the resource accepted. It is to be of the list as it was, and one element
// more; of an earlier one, it takes away what has been appended since.
func (x *effects) appended(l *lockEffect, e *history.Event) {
	was := history.Behind(0)
	if l.lastWrite != nil {
		was = history.Behind(l.lastWrite.Value)
	}
	if e.Target != "" && e.Target != was {
		x.overwritten++
		x.find("lost-update", e, l.lastWrite, "%s appended %d %s, to a list that had come to be %s", e.Client, e.Value, e.Target, was)
	}
}

// account holds each element that clients appended against the final lists, read when all clients were done
// (Jepsen's set-full, of one read behind all writes):
//
//   - lost: acknowledged, but not there;
//   - duplicated: there more than once;
//   - unexpected: there, but appended by nobody, or refused to whoever did.
//
// One whose writer never learned the outcome may be there or not. Of a history that is not whole, who appended an
// element may be missing, so none is unexpected.
func (x *effects) account(final map[string][]int64, whole bool) {
	for _, lock := range sortedKeys(x.locks) {
		l := x.locks[lock]
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
				x.find("unexpected", at, nil, "element %d was appended by nobody", element)
			case said.Kind == history.Fail:
				x.unexpected++
				x.find("unexpected", at, said, "element %d is there, though it was refused to %s", element, said.Client)
			}
		}
		for _, element := range sortedKeys(l.elements) {
			if said := l.elements[element]; said.Kind == history.OK && times[element] == 0 {
				x.lost++
				x.find("lost-element", said, nil, "element %d, which was acknowledged to %s, is not there at the end", element, said.Client)
			}
		}
		if missing := l.acknowledged - l.accepted; missing > 0 && whole {
			x.miscounted += missing
			x.find("accounting", &history.Event{Lock: lock}, nil, "clients have %s acknowledged, the resource's record has %d", fmt.Sprint(l.acknowledged), l.accepted)
		}
	}
	x.miscounted += x.duplicated + x.unexpected
}
