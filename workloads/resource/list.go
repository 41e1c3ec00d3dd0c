package resource

import (
	"errors"
	"fmt"
	"slices"

	"locklab/workloads"
)

// ErrFull is the refusal to append to a list beyond [workloads.MaxElements].
var ErrFull = fmt.Errorf("resource: the lists have %d elements, and hold no more", workloads.MaxElements)

// A list is what a section that appends reads and writes as a whole. A client writes what it has read plus one
// element, whatever the list is by then. So that a write need not carry the whole list, every list that ever existed
// is kept, as the list that it was written from and its last element.
type list struct {
	all  []version
	head int64 // the number of the list as it is, 0 if it is empty
}

// A version is a list: version number i is all[i-1].
type version struct{ from, element int64 }

// write makes the list what version from is, and an element. It returns the last element of from.
func (l *list) write(from, element int64) (behind int64) {
	if from > 0 && from <= int64(len(l.all)) {
		behind = l.all[from-1].element
	}
	l.all = append(l.all, version{from, element})
	l.head = int64(len(l.all))
	return behind
}

// elements returns the elements of the present list, in order.
func (l *list) elements() []int64 {
	var es []int64
	for at := l.head; at > 0; at = l.all[at-1].from { // which existed before
		es = append(es, l.all[at-1].element)
	}
	slices.Reverse(es)
	return es
}

// NewOfLists makes a resource with a list for each lock, all empty, instead of a counter.
func NewOfLists(fencing bool, rec Recorder) *Resource {
	r := New(fencing, rec)
	r.lists = true
	return r
}

// List returns the elements of a lock's list. It has the signature that net/rpc asks for.
func (r *Resource) List(lock string, elements *[]int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.lists {
		return errors.New("resource: it has counters, not lists")
	}
	if c := r.counters[lock]; c != nil {
		*elements = c.list.elements()
	}
	return nil
}
