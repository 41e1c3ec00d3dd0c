package recipes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// lockMark stands before the sequence number in the name of a contender.
const lockMark = "lock-"

// protectedPrefix begins the names of all znodes that an attempt may create:
// Curator's protected form, by which a create is found again whose reply was lost.
func protectedPrefix(guid string) string { return "_c_" + guid + "-" + lockMark }

// A contender is a child of a lock's directory that takes part in its queue.
type contender struct {
	name string
	seq  int64
}

// exhausted reports whether the sequence number says nothing about the order. The
// server counts in 32 bits: at 2147483647 it sticks or turns negative, depending on version and load.
func (c contender) exhausted() bool { return c.seq < 0 || c.seq >= math.MaxInt32 }

// parseContender reads a child's name: whatever follows the last "lock-" must be
// just a sequence number as the server prints it, ten characters wide, or one more
// for a large negative one. Other children do not take part, however they are
// called. What stands before the mark does not matter: other clients of the same layout
// use other prefixes, which may contain the mark too.
func parseContender(name string) (contender, bool) {
	i := strings.LastIndex(name, lockMark)
	if i < 0 {
		return contender{}, false
	}
	digits := name[i+len(lockMark):]
	unsigned, negative := strings.CutPrefix(digits, "-")
	if len(unsigned) != 10 && (!negative || len(unsigned) != 9) {
		return contender{}, false
	}
	for _, c := range []byte(unsigned) {
		if c < '0' || c > '9' {
			return contender{}, false
		}
	}
	seq, err := strconv.ParseInt(digits, 10, 64)
	return contender{name, seq}, err == nil
}

// queue returns the contenders among children, the next holder first.
//
// The exhausted ones come last. A contender with a number below 2147483647 is
// older than any of them: the counter only reaches that by counting up. Among
// each other they have no order, but none of them ever holds.
func queue(children []string) []contender {
	q := make([]contender, 0, len(children))
	for _, name := range children {
		if c, ok := parseContender(name); ok {
			q = append(q, c)
		}
	}
	rank := func(c contender) int64 {
		if c.exhausted() {
			return math.MaxInt32
		}
		return c.seq
	}
	slices.SortFunc(q, func(a, b contender) int {
		// Equal numbers are made by hand; any order will do if all clients see the same.
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.name, b.name))
	})
	return q
}

// checkPath returns an error wrapping ErrInvalidPath unless path is an absolute
// path in ZooKeeper's sense, below the root.
func checkPath(path string) error {
	bad := func(why string) error { return fmt.Errorf("%w %q: %s", ErrInvalidPath, path, why) }
	if !strings.HasPrefix(path, "/") {
		return bad("does not begin with /")
	}
	if !utf8.ValidString(path) {
		return bad("is no UTF-8")
	}
	for part := range strings.SplitSeq(path[1:], "/") {
		if part == "" || part == "." || part == ".." {
			return bad("has an empty, . or .. part")
		}
	}
	for _, r := range path {
		if r <= 0x1f || r >= 0x7f && r <= 0x9f || r >= 0xd800 && r <= 0xf8ff || r >= 0xfff0 && r <= 0xffff {
			return bad("has a character that ZooKeeper does not allow")
		}
	}
	return nil
}
