package recipes

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"locklab/ensembles/labtest/apart"
	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// connectionLine matches what a server says about a session's connection in its answer to "cons".
var connectionLine = regexp.MustCompile(`recved=(\d+),.*sid=0x([0-9a-f]+),`)

// received returns how many requests the servers count on the present connection of a session. Pings count too, so
// tests give these sessions a timeout so long that the first ping would come after the test.
func received(t *testing.T, s *Session) int {
	t.Helper()
	for _, server := range servers(t) {
		for _, m := range connectionLine.FindAllStringSubmatch(apart.Ask(t, server, "cons"), -1) {
			if m[2] == strconv.FormatInt(s.ID(), 16) {
				n, _ := strconv.Atoi(m[1]) // digits
				return n
			}
		}
	}
	t.Fatalf("no server reports a connection of session %x", s.ID())
	return 0
}

// ephemeralCount returns the number of ephemeral znodes once all servers agree on it. Followers apply what is
// committed a little after the leader, and may answer a client before another follower has applied it.
func ephemeralCount(t *testing.T) int { return agreed(t, "zk_ephemerals_count") }

// quiet is the timeout of sessions whose requests are counted. Clients also send pings, one every third of the
// timeout, so it is long enough that no ping falls into a test on a machine that stalls for seconds.
const quiet = 60 * time.Second

// A cost is what SPEC.md states for one recipe.
type cost struct {
	// The requests of an acquisition and its release, alone and behind a holder.
	alone, behind int
	// The watches that fire because of one release while two other clients wait, one behind the other, each in a
	// session of its own.
	fired int
	// The ephemeral znodes of a hold and of a waiter.
	znodes, waiting int
	// The watches that are set while one client holds and two wait, then when the second holds and the third waits,
	// and when all have gone.
	three, two, none int
}

var costs = map[string]cost{
	// Requests: create and getChildren together; delete. A waiter also sets two watches on its predecessor, and one on its
	// own znode, until that goes, or it sets one and lists a second time. The first waiter here has three watches. The
	// second one has one, because its server has not told it of a transaction yet.
	"mutex":         {alone: 3, behind: 6, fired: 2, znodes: 1, waiting: 1, three: 4, two: 2},
	"rw-write":      {alone: 3, behind: 6, fired: 1, znodes: 1, waiting: 1, three: 2, two: 1},
	"rw-read":       {alone: 3, behind: 6, fired: 2, znodes: 1, waiting: 1, three: 4, two: 2},
	"fair-rw-write": {alone: 3, behind: 5, fired: 1, znodes: 1, waiting: 1, three: 2, two: 1},
	"fair-rw-read":  {alone: 3, behind: 5, fired: 1, znodes: 1, waiting: 1, three: 2, two: 1},
	// A waiter lists again to set the watch. A client that gets in after that leaves the watch until the next change.
	"naive-rw-write": {alone: 3, behind: 5, fired: 2, znodes: 1, waiting: 1, three: 2, two: 2},
	"naive-rw-read":  {alone: 3, behind: 5, fired: 2, znodes: 1, waiting: 1, three: 2, two: 2},
	// create, getData, delete. A waiter tries twice, and has no znode. All clients watch the one znode.
	"naive": {alone: 3, behind: 5, fired: 3, znodes: 1, three: 3, two: 2},
	// create and getChildren of the queue; getChildren of the leases; the transaction; getData of the lease; delete. A
	// waiter lists the leases two more times, and watches its own place.
	"semaphore-mutex": {alone: 6, behind: 9, fired: 4, znodes: 1, waiting: 1, three: 4, two: 3},
	// A holder reads and watches each of its two leases, and returns both in one transaction.
	"semaphore": {alone: 7, behind: 10, fired: 5, znodes: 2, waiting: 1, three: 5, two: 4},
	// Three leases. The client reads the count as often as it lists the leases, and with the leases. The watch on the
	// count stays with every client that had to wait.
	"shared-semaphore": {alone: 10, behind: 15, fired: 6, znodes: 3, waiting: 1, three: 7, two: 7, none: 2},
	// Two mutexes. A waiter waits for the first, and finds the second free.
	"multi": {alone: 6, behind: 9, fired: 2, znodes: 2, waiting: 1, three: 4, two: 2},
}

// An acquisition costs what SPEC.md states and leaves nothing behind, by the servers' own counters.
func TestCosts(t *testing.T) {
	onRealServers(t)
	for _, f := range families {
		t.Run(f.recipe, func(t *testing.T) {
			want, ok := costs[f.recipe]
			if !ok {
				t.Fatal("the table does not state its costs")
			}
			theirs, first := f.theirs, f.holder
			if theirs == nil {
				theirs = f.mine
			}
			if first == nil || f.recipe == "multi" { // its waiters have to wait for both members
				first = theirs
			}
			path := lockPath(t)
			// All sessions are on one server, so an answer comes after the watches that it fires.
			var ss [3]*Session
			for i := range ss {
				ss[i] = connected(t, SessionConfig{Config: zksession.Config{Timeout: quiet}})
				ss[i].unwatched = unwatched{never, never}
			}
			released(t, acquired(t, theirs(t, ss[2], path, nil))) // makes the parents
			armed(t, 0)
			atRest := agreed(t, "zk_znode_count")

			mine := f.mine(t, ss[0], path, nil)
			before := received(t, ss[0])
			released(t, acquired(t, mine))
			if n := received(t, ss[0]) - before; n != want.alone {
				t.Errorf("alone: %d requests, want %d", n, want.alone)
			}

			h := acquired(t, first(t, ss[2], path, nil))
			before = received(t, ss[0])
			got := acquiring(t, mine)
			eventually(t, "it waits", func() bool { return waiting(ss[0], countOf(path)) })
			released(t, h)
			released(t, <-got)
			if n := received(t, ss[0]) - before; n != want.behind {
				t.Errorf("behind a holder: %d requests, want %d", n, want.behind)
			}
			forgetWatches(t, f, ss[2], path)

			h = acquired(t, mine)
			if n := ephemeralCount(t); n != want.znodes {
				t.Errorf("a holder has %d znodes, want %d", n, want.znodes)
			}
			var waiters []<-chan *Hold
			for _, s := range ss[1:] {
				queued := make(chan int, 1)
				waiters = append(waiters, acquiring(t, theirs(t, s, path, func(ahead int) { queued <- ahead })))
				<-queued
			}
			armed(t, want.three)
			if n := ephemeralCount(t); n != want.znodes+2*want.waiting {
				t.Errorf("a holder and two waiters have %d znodes, want %d", n, want.znodes+2*want.waiting)
			}
			_, _, sofar := fired(t)
			released(t, h)
			last := waiters[1]
			select {
			case h = <-waiters[0]:
			case h = <-waiters[1]: // a recipe without a queue may grant them in any order
				last = waiters[0]
			}
			armed(t, want.two)
			if _, _, n := fired(t); n-sofar != want.fired {
				t.Errorf("a release fired %d watches, want %d", n-sofar, want.fired)
			}
			released(t, h)
			released(t, <-last)
			armed(t, want.none)
			// (The servers may remove unused directories of other tests meanwhile.)
			eventually(
				t,
				"no znode is left",
				func() bool { return ephemeralCount(t) == 0 && agreed(t, "zk_znode_count") <= atRest },
			)
			for _, s := range ss {
				if err := s.Close(within(t)); err != nil {
					t.Error(err)
				}
			}
			armed(t, 0)
			if f.after != nil {
				f.after(&stage{t: t, observer: connected(t, SessionConfig{}), ctx: within(t), path: path})
			}
		})
	}
}

// forgetWatches fires the watches on a shared count, which stay until the count changes.
func forgetWatches(t *testing.T, f family, s *Session, path string) {
	t.Helper()
	if f.recipe == "shared-semaphore" {
		if err := newCountOf(t, s, countOf(path), 3).SetCount(within(t), 3); err != nil {
			t.Fatal(err)
		}
	}
	armed(t, 0)
}

// A hold that lasts, and a contender that waits for long, watch their own znodes too: a request each, and a watch that
// fires as the znode goes.
func TestCostsOfLasting(t *testing.T) {
	onRealServers(t)
	path := lockPath(t)
	s, other := connected(t, SessionConfig{Config: zksession.Config{Timeout: quiet}}), connected(t, SessionConfig{})
	s.unwatched, other.unwatched = unwatched{}, unwatched{never, never}
	l := realLock(t, "mutex", s, path, nil)
	blocker := acquired(t, realLock(t, "mutex", other, path, nil))
	before := received(t, s)
	got := acquiring(t, l)
	armed(t, 3) // two on the holder's znode, and one on the client's own
	_, _, sofar := fired(t)
	released(t, blocker)
	released(t, <-got)
	armed(t, 0)
	if n := received(t, s) - before; n != 7 {
		t.Errorf("behind a holder: %d requests", n)
	}
	if _, _, n := fired(t); n-sofar != 3 {
		t.Errorf("two releases fired %d watches", n-sofar)
	}
	before = received(t, s)
	h := acquired(t, l)
	armed(t, 1)
	released(t, h)
	armed(t, 0)
	if n := received(t, s) - before; n != 4 {
		t.Errorf("alone: %d requests", n)
	}
}

// A downgrade costs three requests. Unlike a release it always fires a watch, that of the reader's own znode.
func TestDowngradeCosts(t *testing.T) {
	onRealServers(t)
	path := lockPath(t)
	s := connected(t, SessionConfig{Config: zksession.Config{Timeout: quiet}})
	s.unwatched = unwatched{never, never}
	rw := realRW(t, "rw", s, path, nil).(*RW)
	w := acquired(t, rw.Write())
	armed(t, 0)
	before := received(t, s)
	_, _, sofar := fired(t)
	r, err := rw.Downgrade(within(t), w)
	if err != nil {
		t.Fatal(err)
	}
	if n := received(t, s) - before; n != 3 {
		t.Errorf("a downgrade: %d requests", n)
	}
	released(t, r)
	if _, _, n := fired(t); n-sofar != 1 {
		t.Errorf("a downgrade and a release fired %d watches", n-sofar)
	}
	armed(t, 0)
	empty(t, s, path)
}

// The operations of a shared count cost what SPEC.md states.
func TestCountCosts(t *testing.T) {
	onRealServers(t)
	path := lockPath(t)
	s, other := connected(t, SessionConfig{Config: zksession.Config{Timeout: quiet}}), connected(t, SessionConfig{})
	c := newCountOf(t, s, path, 1)
	last, err := c.Get(within(t))
	if err != nil {
		t.Fatal(err)
	}
	cost := func(what string, want int, do func() error) {
		t.Helper()
		before := received(t, s)
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if n := received(t, s) - before; n != want {
			t.Errorf("%s: %d requests, want %d", what, n, want)
		}
	}
	cost("get", 1, func() error { _, err := c.Get(within(t)); return err })
	cost("set what was read", 4, func() error { _, err := c.TrySetCount(within(t), last, 2); return err })
	cost("set", 2, func() error { return c.SetCount(within(t), 3) })
	// Two watchers share one watch, which fires once for each change.
	for range 2 {
		_, w, err := c.watch(within(t))
		if err != nil {
			t.Fatal(err)
		}
		defer w.stop()
	}
	armed(t, 1)
	_, _, sofar := fired(t)
	if err := newCountOf(t, other, path, 1).SetCount(within(t), 4); err != nil {
		t.Fatal(err)
	}
	if _, _, n := fired(t); n-sofar != 1 {
		t.Errorf("a change fired %d watches", n-sofar)
	}
	armed(t, 0)
	if err := other.zk.Delete(within(t), path); err != nil {
		t.Fatal(err)
	}
}

// A client of NoLock sends no request.
func TestNoLockCosts(t *testing.T) {
	onRealServers(t)
	w := wire.New()
	s := connected(t, SessionConfig{Config: zksession.Config{Timeout: quiet, Dial: w.Dial}})
	before := received(t, s)
	released(t, acquired(t, NewNoLock(s.ID())))
	if n, _ := w.Requests(); received(t, s) != before || n != 0 {
		t.Errorf("%d requests", n)
	}
	armed(t, 0)
}
