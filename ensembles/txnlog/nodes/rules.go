package nodes

import (
	"math"
	"strconv"
	"strings"
)

// A Selector says which children of a directory contend for a lock, and their places in the order.
type Selector struct {
	dir   string
	place func(name string) (Place, bool)
}

// Place reports whether a path contends for the lock, and its place.
func (s Selector) Place(path string) (Place, bool) {
	dir, name := split(path)
	if dir != s.dir {
		return Place{}, false
	}
	return s.place(name)
}

// split returns the directory of a path, and the name in it.
func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	return path[:max(i, 0)], path[i+1:]
}

// A Place is a contender's place in a lock's order.
type Place struct {
	// Kind is the index of the mark in the znode's name.
	Kind int
	// Seq is the sequence number.
	Seq int64
}

// Children selects the children of dir whose names end in one of the marks followed by a sequence number as the
// server prints it.
func Children(dir string, marks ...string) Selector {
	return Selector{dir, func(name string) (Place, bool) {
		for width := 10; width <= 11 && width <= len(name); width++ {
			head, digits := name[:len(name)-width], name[len(name)-width:]
			if width == 11 && digits[0] != '-' || strings.Trim(digits[width-10:], "0123456789") != "" {
				continue
			}
			for kind, mark := range marks {
				seq, err := strconv.ParseInt(digits, 10, 64)
				if err == nil && strings.HasSuffix(head, mark) {
					return Place{Kind: kind, Seq: seq}, true
				}
			}
		}
		return Place{}, false
	}}
}

// Znode selects a single path, for locks that have one znode.
func Znode(path string) Selector {
	dir, own := split(path)
	return Selector{dir, func(name string) (Place, bool) { return Place{}, name == own }}
}

// A Rule decides which of a lock's live contenders are eligible. The contenders are in the order of their sequence
// numbers, then of their kinds, then of their creation; those with exhausted numbers come last. When the rule is
// called, eligible says which contenders have been eligible so far; a new one has not. Behind the first so many,
// none has. The rule overwrites eligible with its decision, which must depend on nothing else, and returns how many at
// the head of the queue it has decided about. Behind them none is eligible.
type Rule func(live []*Contender, eligible []bool, so int) (decided int)

// First is the rule of a mutex and of a lock with a single znode: the first contender of the queue is eligible.
func First(live []*Contender, eligible []bool, so int) (decided int) {
	decided = min(max(so, 1), len(live))
	for i := range decided {
		eligible[i] = i == 0 && !live[i].exhausted()
	}
	return decided
}

// ReadWrite is the rule of a read/write lock, where writers have kind 0 and readers kind 1. Eligible is a writer that
// is first in the queue, or the readers before the first writer. A writer that is first does not block readers of its
// own session up to the next writer, because that is how it becomes a reader. (Other clients that share its session
// are let in too, rightly or not.)
func ReadWrite(live []*Contender, eligible []bool, so int) (decided int) {
	writers := 0
	for i, c := range live {
		downgrades := live[0].Kind == 0 && c.Kind == 1 && c.Owner != 0 && c.Owner == live[0].Owner
		blocked := writers > 1 || writers == 1 && !downgrades
		eligible[i] = !c.exhausted() && !blocked && (i == 0 || c.Kind == 1)
		if c.Kind == 0 {
			writers++
		}
		if writers > 1 && i+1 >= so {
			return i + 1
		}
	}
	return len(live)
}

// Leases is the rule of a semaphore. A lease counts from the moment when there are no more leases than permits, and
// for as long as it exists, whatever comes later. The number of permits may change: what counts is the number at the
// time (ms) when the newest lease was created.
func Leases(permits func(ms int64) int) Rule {
	return func(live []*Contender, eligible []bool, _ int) (decided int) {
		var newest int64
		for i := range live {
			newest = max(newest, live[i].Created)
		}
		within := len(live) <= permits(newest)
		for i := range live {
			eligible[i] = eligible[i] || within
		}
		return len(live)
	}
}

// exhausted reports whether the sequence number says nothing about the order. The server counts in 32 bits, and then
// stays at the last number or turns negative.
func (c *Contender) exhausted() bool { return c.Seq < 0 || c.Seq >= math.MaxInt32 }
