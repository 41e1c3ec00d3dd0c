package recipes

import "cmp"

// A rule is what makes one recipe differ from another: it reports whether a contender keeps those that come after it
// from holding.
//
// That no contender of which it says so comes in before another one later is what makes a grant last: see
// [place.await].
type rule func(contender) bool

// everybody is the rule for contenders that hold alone.
func everybody(contender) bool { return true }

// everyWriter is the rule for readers.
func everyWriter(c contender) bool { return c.kind == writing }

// A standing is what a list of the directory says about one contender.
type standing struct {
	there   bool      // it is in the list
	blocked bool      // it has to wait
	block   contender // if so, the last contender that must be gone before it may hold
}

// stand returns how me stands among the children of its directory, which are in no order. It takes one pass and sorts
// nothing, because a list of a long queue is made for every acquisition.
func (l layout) stand(children []string, me contender, blocks rule) (s standing) {
	for _, name := range children {
		if name == me.name {
			s.there = true
			continue
		}
		c, ok := l.parse(name)
		if ok && c.before(me) && blocks(c) && (!s.blocked || s.block.before(c)) {
			s.block, s.blocked = c, true
		}
	}
	return s
}

// ahead returns how many contenders among children must leave before the one that s is about can hold.
func (s standing) ahead(l layout, children []string) (n int) {
	if !s.blocked {
		return 0
	}
	for _, name := range children {
		if c, ok := l.parse(name); ok && !s.block.before(c) {
			n++
		}
	}
	return n
}

// before reports whether c comes before other in the queue.
func (c contender) before(other contender) bool { return c.compare(other) < 0 }

// compare is the order of the queue.
//
// The exhausted contenders come last. A contender with a number below 2147483647 is older than any of them: the counter
// only reaches that by counting up. Among each other they have no order, but none of them ever holds.
func (c contender) compare(other contender) int {
	if order := cmp.Compare(c.rank(), other.rank()); order != 0 {
		return order
	}
	// Equal numbers are a downgraded reader's, or made by hand; any order will do if all clients see the same.
	return cmp.Or(cmp.Compare(c.kind, other.kind), cmp.Compare(c.name, other.name))
}
