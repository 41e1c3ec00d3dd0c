package nodes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Layout says by which znodes a lock's clients contend: one of the layouts below, or a pattern (see [ParseLayout]).
// The empty layout is not known.
type Layout string

// The layouts of the locks that locklab has. Those with a directory have the contenders below the lock's path.
const (
	LayoutQueue     Layout = "queue"      // …lock-#, as in Curator's mutex
	LayoutReadWrite Layout = "read-write" // …__WRIT__# and …__READ__#, as in Curator's read/write lock
	LayoutTextbook  Layout = "textbook"   // …write-# and …read-#
	LayoutSemaphore Layout = "semaphore"  // leases/…lease-#, behind a queue in locks
	LayoutZnode     Layout = "znode"      // the path itself
)

// Layouts lists the layouts that have names.
var Layouts = []Layout{LayoutQueue, LayoutReadWrite, LayoutTextbook, LayoutSemaphore, LayoutZnode}

// LayoutForms says in words what a layout can be.
const LayoutForms = "queue, read-write, textbook, semaphore or znode; or how the contenders' names end, with # for " +
	"the sequence number: lock-#, or write-#,read-# for writers and readers"

// sequence stands for the sequence number in a pattern.
const sequence = "#"

// ParseLayout reads a layout. A pattern says how the names of the contenders, which are children of the lock's path,
// end: in a text and the sequence number that the server appends, for which # stands. Any text may come before. So
// __lock__# is the layout of kazoo's Lock, whose znodes are called <uuid>__lock__<sequence number>. In a pair of
// patterns with a comma in between, the second is that of readers.
func ParseLayout(text string) (Layout, error) {
	l := Layout(text)
	if slices.Contains(Layouts, l) {
		return l, nil
	}
	marks := strings.Split(text, ",")
	for _, m := range marks {
		mark, ends := strings.CutSuffix(m, sequence)
		if !ends || strings.ContainsAny(mark, sequence+"/ \t") || len(marks) > 2 {
			return "", fmt.Errorf("%q is not a layout", text)
		}
	}
	if w := strings.TrimSuffix(marks[0], sequence); len(marks) == 2 {
		r := strings.TrimSuffix(marks[1], sequence)
		if strings.HasSuffix(w, r) || strings.HasSuffix(r, w) {
			return "", errors.New("one znode could be a writer's and a reader's, because one pattern ends in the other")
		}
	}
	return l, nil
}

// marks returns how the contenders' names end before the sequence number. Of two, the second is the readers'.
func (l Layout) marks() []string {
	switch l {
	case LayoutQueue:
		return []string{"lock-"}
	case LayoutReadWrite:
		return []string{"__WRIT__", "__READ__"}
	case LayoutTextbook:
		return []string{"write-", "read-"}
	case LayoutSemaphore:
		return []string{"lease-"}
	case LayoutZnode:
		return nil
	}
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(l), sequence+",", ","), sequence), ",")
}

// Contends returns what contends for the lock at path, and the rule by which a contender is eligible. Permits says
// how many a semaphore has when the leader's wall clock shows a time, in ms.
func (l Layout) Contends(path string, permits func(ms int64) int) (Selector, Rule) {
	switch marks := l.marks(); {
	case l == LayoutZnode:
		return Znode(path), First
	case l == LayoutSemaphore:
		return Children(path+"/leases", marks...), Leases(permits)
	case l.Modes():
		return Children(path, marks...), ReadWrite
	default:
		return Children(path, marks...), First
	}
}

// Queue returns what queues for the lock at path, where that differs from what contends for it; false where it does
// not.
func (l Layout) Queue(path string) (Selector, bool) {
	if l != LayoutSemaphore {
		return Selector{}, false
	}
	return Children(path+"/locks", LayoutQueue.marks()...), true
}

// Modes reports whether a contender's name says if it is a reader or a writer.
func (l Layout) Modes() bool { return len(l.marks()) == 2 }

// Queues reports whether the contenders' turns come in the order of their znodes.
func (l Layout) Queues() bool { return l != "" && l != LayoutSemaphore && l != LayoutZnode }
