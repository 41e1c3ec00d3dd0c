package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/ensembles/txnlog/nodes"
	"locklab/reports/words"
)

// A Verdict says in a word how a lock is.
type Verdict string

// The verdicts.
const (
	// Empty locks have neither a holder nor a waiter.
	Empty Verdict = "empty"
	// Moving locks have changed hands between two looks.
	Moving Verdict = "moving"
	// Busy locks are held by a session that has not ended.
	Busy Verdict = "busy"
	// Orphaned locks have a znode that belongs to no attempt of a client.
	Orphaned Verdict = "orphaned"
	// Blocked locks wait for a znode that no session's end deletes.
	Blocked Verdict = "blocked"
	// Deadlocked locks have clients that wait for each other.
	Deadlocked Verdict = "deadlocked"
	// Unclear locks look the same whether all is well or not.
	Unclear Verdict = "cannot tell"
)

// Bad reports whether a verdict is one that somebody has to act upon.
func (v Verdict) Bad() bool { return v == Orphaned || v == Blocked || v == Deadlocked }

// judge sets the verdict of a lock. Before is an earlier look at it; nil if there was none. The clock shows a time now,
// by the servers' clock as far as that is known.
func (l *Lock) judge(before *Lock, now time.Time) {
	switch {
	case l.judgePersistent(), l.judgeTwins(), l.judgeEmpty():
	case before != nil && !sameHolders(before, l):
		l.Verdict, l.Because = Moving, "its holder changed within the time of this look"
	case l.judgeHidden(), l.judgePermits(), l.judgeKazoo(), l.judgeBehindItself():
	default:
		l.judgeBusy(now)
	}
}

// all returns the holders and waiters, read or not; none of no lock.
func (l *Lock) all() []*Contender {
	if l == nil {
		return nil
	}
	return slices.Concat(l.Contenders, l.Queued)
}

// A contender that is not ephemeral stays until somebody deletes it, whatever becomes of its client.
func (l *Lock) judgePersistent() bool {
	if l.kind.layout == nodes.LayoutZnode {
		return false
	}
	i := slices.IndexFunc(l.all(), func(c *Contender) bool { return c.Read && c.owner == 0 })
	if i < 0 {
		return false
	}
	c := l.all()[i]
	l.Verdict = Blocked
	l.Because = c.Name() + " is persistent, so no session's end deletes it, and nobody gets the lock after it"
	l.Advice = l.deletion(c)
	return true
}

// One attempt of a client creates one znode, with a GUID of its own. If two znodes bear one GUID, the client knows of
// one of them.
func (l *Lock) judgeTwins() bool {
	seen := map[string]*Contender{}
	for _, c := range l.all() {
		guid := nodes.GUIDOf(c.Name())
		if guid == "" {
			continue
		}
		twin := seen[guid]
		if twin == nil || twin.Shared != c.Shared { // a writer that became a reader has both
			seen[guid] = c
			continue
		}
		l.Verdict = Orphaned
		l.Because = fmt.Sprintf("%s and %s bear the GUID of one attempt, whose client knows of one of them; which one, "+
			"only the client can say", twin.Name(), c.Name())
		l.Advice = "Close the session " + c.Session + ", which ends both, by stopping its client; its holds end with it."
		return true
	}
	return false
}

func (l *Lock) judgeEmpty() bool {
	if len(l.all()) > 0 {
		return false
	}
	l.Verdict, l.Because = Empty, "nobody holds it, and nobody waits"
	return true
}

// The holders of a semaphore's permits that all queue for another one may wait for each other. Who acquires several
// permits one after the other, as Curator's client does, can come to that.
func (l *Lock) judgePermits() bool {
	if l.kind.layout != nodes.LayoutSemaphore || len(l.Contenders) == 0 || len(l.Queued) == 0 {
		return false
	}
	queued := map[int64]bool{}
	for _, c := range l.Queued {
		queued[c.owner] = c.Read
	}
	sessions := map[int64]bool{}
	for _, c := range l.Contenders {
		if !c.Read || !queued[c.owner] {
			return false
		}
		sessions[c.owner] = true
	}
	if len(sessions) < 2 {
		return false
	}
	l.Verdict = Deadlocked
	l.Because = fmt.Sprintf("all %d sessions that hold permits queue for another one, so each waits for the others",
		len(sessions))
	l.Advice = "Stop one of these clients: its permits come free. If threads share a session, and one of them holds and " +
		"another waits, this is no deadlock."
	return true
}

// A reader of kazoo may wait for a writer that came later, which waits for the reader (kazoo, issue 649). Their znodes
// look like those of a reader that holds.
func (l *Lock) judgeKazoo() bool {
	if l.kind.layout != kazooLayout || len(l.Contenders) < 2 || !l.Contenders[0].Shared {
		return false
	}
	if !slices.ContainsFunc(l.Contenders, func(c *Contender) bool { return !c.Shared }) {
		return false
	}
	l.Verdict = Unclear
	l.Because = "a reader is first and a writer waits: either the reader holds the lock, or, in versions of kazoo that " +
		"count later writers too (kazoo issue 649), both wait for each other"
	return true
}

// A session that waits behind its own znode has two threads that contend, or has forgotten that it holds.
func (l *Lock) judgeBehindItself() bool {
	if l.kind.layout == nodes.LayoutSemaphore {
		return false
	}
	for _, h := range l.Holders() {
		for _, w := range l.Waiters() {
			if !h.Read || !w.Read || h.owner != w.owner || h.Shared != w.Shared {
				continue
			}
			l.Verdict = Unclear
			l.Because = fmt.Sprintf("session %s holds it with %s and waits behind that with %s: either two threads share the "+
				"session, or its client has forgotten the znode that holds", h.Session, h.Name(), w.Name())
			return true
		}
	}
	return false
}

// A holder that may not be read may be persistent, and its session unknown.
func (l *Lock) judgeHidden() bool {
	for _, h := range l.Holders() {
		if h.hidden {
			l.Verdict, l.Because = Unclear, h.Name()+" holds it, and may not be read, so whose it is remains unknown"
			return true
		}
	}
	return false
}

func (l *Lock) judgeBusy(now time.Time) {
	holders := l.Holders()
	if len(holders) == 0 {
		l.Verdict = Unclear
		l.Because = "by the order of their znodes none of the contenders holds it; their sequence numbers may be used up"
		if l.kind.layout == nodes.LayoutSemaphore {
			l.Verdict, l.Because = Busy, "no permit is taken, and the first in the queue is about to take one"
		}
		return
	}
	h := holders[0]
	l.Verdict = Busy
	if !h.Read {
		l.Because = "it has a holder"
		return
	}
	l.Because = fmt.Sprintf("held by session %s, whose znode is %s old", h.Session, age(h, now))
	if len(holders) > 1 {
		l.Because = fmt.Sprintf("%d hold it, the first of them session %s with a znode that is %s old", len(holders),
			h.Session, age(h, now))
	}
	if l.Kind == kazooQueue.name {
		l.Because += "; the first client of this queue waits for a permit of " + strings.TrimSuffix(l.Path, "-__lock__")
	}
	switch {
	case h.Client == nil:
		l.Because += "; the session has not ended"
	case h.Client.Address == "":
		l.Because += "; the session has not ended, and no server has a connection of it: unless its client comes back, " +
			"it ends when its timeout is over"
	case h.Client.mute():
		l.Because += fmt.Sprintf("; its client %s has been silent for %s of its timeout of %s, so it has missed its "+
			"pings: it may stand still or be cut off, and it keeps the lock until the timeout is over", h.Client.Address,
			words.Duration(int64(h.Client.Silent)), timeout(h.Client))
	default:
		l.Because += "; its client " + h.Client.Address + " is connected"
	}
}

// age is how old a contender's znode is.
func age(c *Contender, now time.Time) string {
	return words.Duration(int64(max(now.Sub(c.Created), 0)))
}

// sameHolders reports whether the same znodes hold at both looks.
func sameHolders(a, b *Lock) bool {
	return slices.EqualFunc(a.Holders(), b.Holders(), func(x, y *Contender) bool { return x.Path == y.Path })
}

// deletion says what the deletion of a contender would do.
func (l *Lock) deletion(c *Contender) string {
	text := "Deleting " + c.Path + " would free what it blocks"
	if next := slices.DeleteFunc(l.Waiters(), func(w *Contender) bool { return w == c }); len(next) > 0 {
		text = "Deleting " + c.Path + " would give the lock to " + next[0].Name()
	}
	return text + ". If the client that created it still acts on its lock, two would act at once: " +
		"make sure that it has ended."
}
