package history

import (
	"cmp"
	"iter"
	"slices"
	"sort"
	"sync"
)

// A Log holds the events of a run in the order of time. A run has millions of them, so a Log keeps them encoded, in a
// dozen bytes each, and decodes them as they are asked for. The zero Log and a nil one are empty.
type Log struct {
	blocks []block
	n      int

	forms    []seen
	formOf   map[form]uint32
	texts    []string
	textOf   map[string]uint32
	sessions []SessionID
	session  map[SessionID]uint32
	ops      map[Op]uint64 // the bit of an op in a block
	lock     struct {      // of the last event that has one, as most have the same
		text string
		id   uint32
	}

	gather       sync.Once
	acquisitions *gathering // see [Acquisitions]; nil until they are needed

	clocks *Clocks // of the hosts that recorded the events; see [Log.Clocks]

	spare []byte // room for further blocks
	last  cursor // of the last event
}

// NewLog returns a log of events. They need not be in the order of time; those of one time keep their order.
func NewLog(events []Event) *Log {
	l := &Log{}
	byTime := func(a, b Event) int { return cmp.Compare(a.At, b.At) }
	if !slices.IsSortedFunc(events, byTime) {
		events = slices.Clone(events)
		slices.SortStableFunc(events, byTime)
	}
	for i := range events {
		e := &events[i]
		l.put(e, l.formID(form{e.Process, e.Op, e.Client}))
	}
	return l
}

// NewLogOf returns a log of events by the clocks of the hosts that recorded them, each of which is its Process, and
// places them on the run's. [ReadRaw] does the same with files.
func NewLogOf(events []Event, clocks *Clocks) *Log {
	placed := slices.Clone(events)
	for i := range placed {
		e := &placed[i]
		clocks.Covers(e.Process, e.At, e.At)
		e.At = clocks.Place(e.Process, e.At)
	}
	l := NewLog(placed)
	l.clocks = clocks
	return l
}

// Clocks says by how much the times of events may be off, where not all hosts have the run's clock. It is nil where all
// have.
func (l *Log) Clocks() *Clocks {
	if l == nil {
		return nil
	}
	return l.clocks
}

// Len is how many events there are.
func (l *Log) Len() int {
	if l == nil {
		return 0
	}
	return l.n
}

// All yields the events with their numbers, from 0.
func (l *Log) All() iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		if l != nil {
			l.from(0, ^uint64(0), nil, yield)
		}
	}
}

// Of yields the events of some ops. It is cheap for ops that few events have.
func (l *Log) Of(ops ...Op) iter.Seq2[int, Event] {
	return l.Where(func(op Op) bool { return slices.Contains(ops, op) })
}

// Where yields the events whose ops match. It is cheap for ops that few events have.
func (l *Log) Where(match func(Op) bool) iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		if l == nil {
			return
		}
		var mask uint64
		wanted := make([]bool, len(l.forms))
		for i, f := range l.forms {
			if wanted[i] = match(f.op); wanted[i] {
				mask |= f.bit
			}
		}
		l.from(0, mask, wanted, yield)
	}
}

// Events returns all events, of a short history.
func (l *Log) Events() []Event {
	var all []Event
	for _, e := range l.All() {
		all = append(all, e)
	}
	return all
}

// Count is how many events there are of an op and a kind that this version knows.
func (l *Log) Count(op Op, kind Kind) int {
	if l == nil {
		return 0
	}
	n := 0
	for _, f := range l.forms {
		if f.op == op {
			n += f.kinds[kind]
		}
	}
	return n
}

// Sides yields each process with each client that it recorded an event of; the client is empty if the event was of
// none.
func (l *Log) Sides() iter.Seq2[string, string] {
	return func(yield func(process, client string) bool) {
		if l == nil {
			return
		}
		for _, f := range l.forms {
			if !yield(f.process, f.client) {
				return
			}
		}
	}
}

// First returns the first event of an op, and whether there is one.
func (l *Log) First(op Op) (Event, bool) {
	for _, e := range l.Of(op) {
		return e, true
	}
	return Event{}, false
}

// End is when the last event was, at the earliest the run's base.
func (l *Log) End() int64 {
	if l == nil {
		return 0
	}
	return max(l.last.at, 0)
}

// Since yields the events at a time and after it.
func (l *Log) Since(at int64) iter.Seq2[int, Event] {
	return func(yield func(int, Event) bool) {
		if l == nil {
			return
		}
		k := sort.Search(len(l.blocks), func(k int) bool { return l.blocks[k].first >= at })
		l.from(max(k-1, 0), ^uint64(0), nil, func(i int, e Event) bool { return e.At < at || yield(i, e) })
	}
}
