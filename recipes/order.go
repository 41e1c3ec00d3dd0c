package recipes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/recipes/zksession"
)

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
	there  bool      // it is in the list
	blocks int       // how many contenders must be gone before it may hold
	block  contender // the last of them
}

// blocked reports whether the contender has to wait.
func (s standing) blocked() bool { return s.blocks > 0 }

// stand returns how me stands among the children of its directory, which are in no order. It takes one pass and sorts
// nothing, because a list of a long queue is made for every acquisition.
func (l layout) stand(children []string, me contender, blocks rule) (s standing) {
	for _, name := range children {
		if name == me.name {
			s.there = true
			continue
		}
		c, ok := l.parse(name)
		if !ok || !c.before(me) || !blocks(c) {
			continue
		}
		if !s.blocked() || s.block.before(c) {
			s.block = c
		}
		s.blocks++
	}
	return s
}

// ahead returns how many contenders among children must leave before the one that s is about can hold.
func (s standing) ahead(l layout, children []string) (n int) {
	if !s.blocked() {
		return 0
	}
	for _, name := range children {
		if c, ok := l.parse(name); ok && !s.block.before(c) {
			n++
		}
	}
	return n
}

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

// A layout says which children of a directory take part in its queue: those whose
// name ends in one of these marks and a sequence number. A contender's kind is the
// mark's index.
type layout []string

// The layouts, which are other clients' as well.
var (
	mutexLayout    = layout{"lock-"}                // Curator's and go-zookeeper's
	latchLayout    = layout{"latch-"}               // that of Curator's LeaderLatch
	leaseLayout    = layout{"lease-"}               // Curator's, of a semaphore's leases, which do not queue
	rwLayout       = layout{"__WRIT__", "__READ__"} // Curator's
	textbookLayout = layout{"write-", "read-"}
)

// The kinds of contenders in the two layouts of read/write locks. A writer sorts before a reader of the same number,
// which it becomes by a downgrade, so that a contender behind them watches the one that stays longer.
const (
	writing = iota
	reading
)

// exclusive reports whether a contender holds alone. Where there is only one kind of contenders, it is this one.
func exclusive(c contender) bool { return c.kind == writing }

// protectedPrefix begins the names of all znodes that an attempt may create:
// Curator's protected form, by which a create is found again whose reply was lost.
func protectedPrefix(guid, mark string) string { return "_c_" + guid + "-" + mark }

// A contender is a child of a lock's directory that takes part in its queue.
type contender struct {
	name string
	kind int
	seq  int64
}

// exhausted reports whether the sequence number says nothing about the order. The
// server counts in 32 bits: at 2147483647 it sticks or turns negative, depending on version and load.
func (c contender) exhausted() bool { return c.seq < 0 || c.seq >= math.MaxInt32 }

// parse reads a child's name: whatever follows the mark must be
// just a sequence number as the server prints it, ten characters wide, or one more
// for a large negative one. Other children do not take part, however they are
// called. Anything may stand before the mark: other clients of the same layout
// use other prefixes, which may contain a mark too.
func (l layout) parse(name string) (contender, bool) {
	for width := 10; width <= 11 && width < len(name); width++ {
		head, digits := name[:len(name)-width], name[len(name)-width:]
		seq, ok := parseNumber(digits, width == 11)
		if !ok {
			continue
		}
		for kind, mark := range l {
			if strings.HasSuffix(head, mark) {
				return contender{name, kind, seq}, true
			}
		}
	}
	return contender{}, false
}

// parseNumber reads digits, of which the first may, or must, be a minus sign instead. It is called for every child of
// every list.
func parseNumber(digits string, negative bool) (n int64, ok bool) {
	sign := int64(1)
	switch {
	case digits[0] == '-':
		sign, digits = -1, digits[1:]
	case negative:
		return 0, false
	}
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = 10*n + int64(d)
	}
	return sign * n, true
}

// rank is the sequence number, or one above all others.
func (c contender) rank() int64 {
	if c.exhausted() {
		return math.MaxInt32
	}
	return c.seq
}

// queue returns the contenders among children, the next holder first.
func (l layout) queue(children []string) []contender {
	q := make([]contender, 0, len(children))
	for _, name := range children {
		if c, ok := l.parse(name); ok {
			q = append(q, c)
		}
	}
	slices.SortFunc(q, contender.compare)
	return q
}

// checkConfig checks what every recipe needs.
func checkConfig(recipe string, s *Session, path string) error {
	if s == nil {
		return fmt.Errorf("%s: no session given", recipe)
	}
	if err := checkPath(path); err != nil {
		return fmt.Errorf("%s: %w", recipe, err)
	}
	return nil
}

// checkPath returns an error wrapping ErrInvalidPath unless path is an absolute
// path in ZooKeeper's sense, below the root.
func checkPath(path string) error {
	if err := zksession.CheckPath(path); err != nil {
		return fmt.Errorf("%w %q: %w", ErrInvalidPath, path, err)
	}
	return nil
}
