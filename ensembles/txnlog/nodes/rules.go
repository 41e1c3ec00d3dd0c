package nodes

import (
	"math"
	"strconv"
	"strings"
)

// A Selector says which paths contend for a lock, and where in its order they stand.
type Selector func(path string) (Place, bool)

// A Place is a contender's in a lock's order.
type Place struct {
	// Kind is the index of the mark in the name.
	Kind int
	// Seq is the sequence number.
	Seq int64
}

// Children selects the children of dir whose name ends in one of the marks and a
// sequence number as the server prints it.
func Children(dir string, marks ...string) Selector {
	return func(path string) (Place, bool) {
		name, ok := strings.CutPrefix(path, dir+"/")
		if !ok || strings.Contains(name, "/") {
			return Place{}, false
		}
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
	}
}

// Znode selects the one path, for locks that have a single znode.
func Znode(path string) Selector {
	return func(p string) (Place, bool) { return Place{}, p == path }
}

// A Rule says who of a lock's live contenders is eligible. They come in the order of
// their sequence numbers, those without a meaning last; at equal ones of their kinds, then of their creation. In eligible the rule finds who was so far, a newcomer
// not, and leaves who is now. It must depend on nothing else.
type Rule func(live []Contender, eligible []bool)

// First is a mutex's rule, and that of a single znode: whoever leads the queue.
func First(live []Contender, eligible []bool) {
	for i := range live {
		eligible[i] = i == 0 && !live[i].exhausted()
	}
}

// ReadWrite is a read/write lock's rule, where writers are of kind 0 and readers of kind 1: a
// writer that leads the queue, or the readers before the first writer. A writer that leads keeps
// out no reader of its own session up to the next writer: that is how it becomes a
// reader. (Who shares its session is let in too, rightly or not.)
func ReadWrite(live []Contender, eligible []bool) {
	writers := 0
	for i, c := range live {
		blocked := writers > 1 || writers == 1 && (live[0].Kind != 0 || c.Kind != 1 || c.Owner == 0 || c.Owner != live[0].Owner)
		eligible[i] = !c.exhausted() && !blocked && (i == 0 || c.Kind == 1)
		if c.Kind == 0 {
			writers++
		}
	}
}

// Leases is a semaphore's rule: a lease counts from when there were no more than the permits, and as
// long as it is there, whatever comes later.
func Leases(permits int) Rule {
	return func(live []Contender, eligible []bool) {
		for i := range live {
			eligible[i] = eligible[i] || len(live) <= permits
		}
	}
}

// exhausted reports whether the sequence number says nothing about the order: the
// server counts in 32 bits, and then sticks at the last number or turns negative.
func (c Contender) exhausted() bool { return c.Seq < 0 || c.Seq >= math.MaxInt32 }
