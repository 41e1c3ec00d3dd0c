package recipes

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

var rwNames = []string{"rw", "fair-rw", "naive-rw"}

// An rwWaiter is an acquisition under way.
type rwWaiter struct {
	ahead int // as OnQueued reported it
	got   chan *Hold
}

// queue begins an acquisition and returns once it has its place in the queue.
func queueRW(t *testing.T, recipe string, s *Session, lock string, write bool) rwWaiter {
	t.Helper()
	queued := make(chan int, 10)
	l := side(realRW(t, recipe, s, lock, func(ahead int) { queued <- ahead }), write)
	w := rwWaiter{got: make(chan *Hold, 1)}
	go func() {
		h, err := l.Acquire(within(t))
		if err != nil {
			t.Error(err)
		}
		w.got <- h
	}()
	select {
	case w.ahead = <-queued:
	case <-within(t).Done():
		t.Fatal("the client does not queue")
	}
	return w
}

func (w rwWaiter) hold(t *testing.T) *Hold {
	t.Helper()
	select {
	case h := <-w.got:
		if h == nil {
			t.Fatal("no hold")
		}
		return h
	case <-within(t).Done():
		t.Fatal("the client does not get the lock")
		return nil
	}
}

// armed waits until the servers report n watches. (The clients hear a little later of watches that fired.)
func armed(t *testing.T, n int) {
	t.Helper()
	eventually(
		t,
		fmt.Sprintf("%d watches are set", n),
		func() bool { return counters(t)["zk_watch_count"] == float64(n) },
	)
}

// Readers hold together. A writer waits for all of them, and readers that come after the writer wait for it, however
// many readers hold: neither kind starves the other. The clients use several sessions on several servers.
func TestRWOrder(t *testing.T) {
	for _, recipe := range rwNames {
		t.Run(recipe, func(t *testing.T) {
			lock, all := lockPath(t), servers(t)
			var ss []*Session
			for range 3 {
				ss = append(ss, connected(t, SessionConfig{Config: zksession.Config{Servers: all}}))
				all = rotated(all)
			}
			var first []*Hold
			for i := range 3 { // n readers in parallel
				first = append(first, acquired(t, realRW(t, recipe, ss[i], lock, nil).Read()))
			}
			w1 := queueRW(t, recipe, ss[0], lock, true)
			r := []rwWaiter{
				queueRW(t, recipe, ss[1], lock, false),
				queueRW(t, recipe, ss[2], lock, false),
				queueRW(t, recipe, ss[0], lock, false),
			}
			w2 := queueRW(t, recipe, ss[1], lock, true)
			for i, got := range []int{w1.ahead, r[0].ahead, r[1].ahead, r[2].ahead, w2.ahead} {
				if want := []int{3, 4, 4, 4, 7}[i]; got != want {
					t.Errorf("contender %d has %d ahead, want %d", i, got, want)
				}
			}
			for _, i := range []int{1, 2, 0} { // not in the order of the queue
				if len(w1.got) > 0 {
					t.Error("a writer beside a reader")
				}
				released(t, first[i])
			}
			h1 := w1.hold(t)
			if len(r[0].got)+len(r[1].got)+len(r[2].got)+len(w2.got) > 0 {
				t.Error("another holder beside a writer")
			}
			released(t, h1)
			var second []*Hold
			for _, w := range r { // all get in before any of them leaves
				h := w.hold(t)
				if h.Token() <= h1.Token() {
					t.Errorf("token %d after a writer's %d", h.Token(), h1.Token())
				}
				second = append(second, h)
			}
			if len(w2.got) > 0 {
				t.Error("a writer beside readers")
			}
			for _, h := range second {
				released(t, h)
			}
			h2 := w2.hold(t)
			if h2.Token() <= second[2].Token() {
				t.Errorf("token %d after %d", h2.Token(), second[2].Token())
			}
			released(t, h2)
			empty(t, ss[0], lock)
		})
	}
}

// A writer gets in although readers keep coming and never leave the lock free.
func TestWritersAreNotStarved(t *testing.T) {
	for _, recipe := range rwNames {
		t.Run(recipe, func(t *testing.T) {
			lock := lockPath(t)
			a, b, c := connected(t, SessionConfig{}), connected(t, SessionConfig{}), connected(t, SessionConfig{})
			// All readers queue before the first leaves, so that without the writer some reader would always hold the
			// lock.
			last := acquired(t, realRW(t, recipe, a, lock, nil).Read())
			var waiting []rwWaiter
			w := queueRW(t, recipe, c, lock, true)
			for i := range 6 {
				waiting = append(waiting, queueRW(t, recipe, []*Session{a, b}[i%2], lock, false))
			}
			released(t, last)
			released(t, w.hold(t)) // before any other reader has left or come
			for _, r := range waiting {
				released(t, r.hold(t))
			}
			empty(t, a, lock)
		})
	}
}

// Connections of several sessions break all the time, and some clients give up early. Still readers and writers never
// hold together in conflicting modes, and nothing is left behind. Some writers of rw downgrade.
func TestRWExclusionUnderBreaks(t *testing.T) {
	t.Parallel()
	for _, recipe := range rwNames {
		t.Run(recipe, func(t *testing.T) {
			t.Parallel()
			lock, other := lockPath(t), connected(t, SessionConfig{})
			var record rwRecord
			work := func() { _ = other.zk.Sync(within(t), lock) } // takes a round trip
			underBreaks(t, lock, 3, 20, func(s *Session) func(context.Context, *rand.Rand) error {
				rw := realRW(t, recipe, s, lock, nil)
				return func(ctx context.Context, r *rand.Rand) error {
					if full, ok := rw.(*RW); ok && r.IntN(4) == 0 {
						return record.useAndDowngrade(ctx, t, full, work)
					}
					return record.use(ctx, t, t.Name(), rw, r.IntN(3) == 0, work)
				}
			})
			if record.mostReaders < 2 {
				t.Errorf("at most %d readers at once", record.mostReaders)
			}
		})
	}
}

// useAndDowngrade holds the lock as a writer, then as a reader.
func (r *rwRecord) useAndDowngrade(ctx context.Context, t *testing.T, rw *RW, section func()) error {
	w, err := rw.Write().Acquire(ctx)
	if err != nil {
		return err
	}
	leave := r.enter(t, t.Name(), true, w)
	section()
	h, err := rw.ReadUnder(ctx, w)
	if err != nil {
		leave()
		return errors.Join(err, w.Release(ctx))
	}
	if h.Token() != w.Token() {
		t.Errorf("token %d after a downgrade from %d", h.Token(), w.Token())
	}
	r.mu.Lock()
	r.writers--
	r.readers++
	r.mu.Unlock()
	err = w.Release(ctx)
	section()
	r.mu.Lock()
	r.readers--
	r.mu.Unlock()
	return errors.Join(err, h.Release(ctx))
}

// The queued writer gets in after the downgraded reader has left. A queued reader gets in as soon as the writer has
// become a reader.
func TestDowngradeOrder(t *testing.T) {
	lock := lockPath(t)
	s, writer, reader := connected(
		t,
		SessionConfig{},
	), connected(
		t,
		SessionConfig{},
	), connected(
		t,
		SessionConfig{Config: zksession.Config{Servers: rotated(servers(t))}},
	)
	rw := realRW(t, "rw", s, lock, nil).(*RW)
	w := acquired(t, rw.Write())
	behind := queueRW(t, "rw", reader, lock, false)
	last := queueRW(t, "rw", writer, lock, true)
	r, err := rw.Downgrade(within(t), w)
	if err != nil {
		t.Fatal(err)
	}
	if r.Token() != w.Token() || !errors.Is(context.Cause(w.Context()), ErrReleased) {
		t.Errorf("token %d after %d, the write hold: %v", r.Token(), w.Token(), context.Cause(w.Context()))
	}
	rb := behind.hold(t) // beside the downgraded reader
	if err := r.Context().Err(); err != nil || len(last.got) > 0 {
		t.Errorf("%v, %d writers in", err, len(last.got))
	}
	// The reader that queued later leaves first: it is the one that the writer watches.
	released(t, rb)
	eventually(t, "the writer waits for the downgraded reader", func() bool {
		_, ok := watchOn(writer, target{r.place.path(), true})
		return ok
	})
	if got := listed(t, s, lock); len(got) != 2 || len(last.got) > 0 {
		t.Errorf("%v, %d writers in", got, len(last.got))
	}
	released(t, r)
	h := last.hold(t)
	if h.Token() <= r.Token() {
		t.Errorf("token %d after %d", h.Token(), r.Token())
	}
	released(t, h)
	empty(t, writer, lock)
}

// A write hold cannot be downgraded after an administrator has deleted its znode.
func TestDowngradeAfterForce(t *testing.T) {
	lock := lockPath(t)
	s, admin := connected(t, SessionConfig{}), connected(t, SessionConfig{})
	rw := realRW(t, "rw", s, lock, nil).(*RW)
	w := acquired(t, rw.Write())
	if err := admin.zk.Delete(within(t), w.place.path()); err != nil {
		t.Fatal(err)
	}
	if _, err := rw.Downgrade(within(t), w); !errors.Is(err, ErrLockLost) {
		t.Errorf("downgrade: %v", err)
	}
	empty(t, admin, lock)
}

// Requests are counted by the client, and watches by the servers.
func TestRWRequestsAndWatches(t *testing.T) {
	onRealServers(t)
	for recipe, want := range map[string]struct {
		// The requests of an acquisition and its release: without contention, and of a reader behind a writer.
		alone, behind int
		// The watches fired by the release of a writer with three readers waiting in sessions of their own, and by
		// the release of the last of those readers with a writer and another reader waiting.
		writer, last int
		// The watches of its own znode that a reader has which waited.
		own int
	}{
		// The first release fires those of the three readers, each of which has two on the writer and one on its own znode;
		// the second fires the writer's, and the reader's own.
		"rw":      {3, 6, 6, 2, 1},
		"fair-rw": {3, 5, 3, 1, 0},
		// Each release fires one watch on the directory for each session with a waiter. The waiting writer and reader
		// share a session.
		"naive-rw": {3, 0, 4, 1, 0},
	} {
		t.Run(recipe, func(t *testing.T) {
			lock := lockPath(t)
			w := wire.New()
			session := func(cfg SessionConfig) *Session {
				s := connected(t, cfg)
				s.unwatched = unwatched{never, never} // the watches of own znodes depend on how long everything takes
				return s
			}
			s := session(SessionConfig{Config: zksession.Config{Dial: w.Dial}})
			l := realRW(t, recipe, s, lock, nil)
			released(t, acquired(t, l.Read())) // makes the parents
			for _, write := range []bool{false, true} {
				before, _ := w.Requests()
				released(t, acquired(t, side(l, write)))
				after, by := w.Requests()
				if after-before != want.alone {
					t.Errorf("write=%t: %d requests, want %d (%v in all)", write, after-before, want.alone, by)
				}
			}
			armed(t, 0)

			// All sessions are on the same server, so that an answer comes after the
			// watches that it fires.
			h := acquired(t, realRW(t, recipe, session(SessionConfig{}), lock, nil).Write())
			before, _ := w.Requests()
			readers := []rwWaiter{queueRW(t, recipe, s, lock, false)}
			for range 2 {
				readers = append(readers, queueRW(t, recipe, session(SessionConfig{}), lock, false))
			}
			both := session(SessionConfig{})
			writer := queueRW(t, recipe, both, lock, true)
			late := queueRW(t, recipe, both, lock, false)
			// The readers watch the writer; of both, the writer watches the last reader, and the reader that writer. In a
			// naive-rw each session watches the directory.
			inBoth := 2
			if recipe == "naive-rw" {
				inBoth = 1
			}
			armed(t, 3+3*2*want.own+inBoth)
			_, _, atRest := fired(t)
			released(t, h)
			_, _, n := fired(t)
			n -= atRest
			if n != want.writer {
				t.Errorf("a writer's release fired %d watches, want %d", n, want.writer)
			}
			var holds []*Hold
			for _, r := range readers {
				holds = append(holds, r.hold(t))
			}
			for _, h := range holds[:2] {
				released(t, h)
			}
			armed(t, want.own+inBoth)
			_, _, atRest = fired(t)
			released(t, holds[2])
			_, _, last := fired(t)
			last -= atRest
			if last != want.last {
				t.Errorf("the last reader's release fired %d watches, want %d", last, want.last)
			}
			released(t, writer.hold(t))
			released(t, late.hold(t))
			after, by := w.Requests()
			if recipe != "naive-rw" && after-before != want.behind { // each arrival and departure costs naive-rw more requests
				t.Errorf("a reader behind a writer: %d requests, want %d (%v)", after-before, want.behind, by)
			}
			t.Logf(
				"%s: alone %d, behind a writer %d requests; watches fired by a writer's release %d, by the last reader's %d",
				recipe,
				want.alone,
				after-before,
				n,
				last,
			)
			empty(t, s, lock)
			eventually(t, "no znode, no watch left", func() bool {
				c := counters(t)
				return c["zk_ephemerals_count"] == 0 && c["zk_watch_count"] == 0
			})
		})
	}
}

// Children that are not contenders do not block the lock. Curator's contenders do, according to their mode, even a
// reader in a writer's place.
func TestRWForeignChildren(t *testing.T) {
	s, other, lock := connected(t, SessionConfig{}), connected(t, SessionConfig{}), lockPath(t)
	ctx := within(t)
	if err := ensureDir(ctx, s.zk, lock); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"0", "__READ__", "__WRIT__1", "lock-0000000000", "_c_short-__WRIT__x", "zzz",
		"read-0000000000", "__WRIT__00000000001"} {
		if _, err := other.zk.Create(ctx, path.Join(lock, name), nil, zksession.Ephemeral); err != nil {
			t.Fatal(err)
		}
	}
	rw := realRW(t, "rw", s, lock, nil)
	released(t, acquired(t, rw.Read()))
	released(t, acquired(t, rw.Write()))
	for _, name := range []string{"_c_b0f15e0c-7b1d-4d21-a0a1-8a3cf0f3a4e1-__READ__",
		"_c_b0f15e0c-7b1d-4d21-a0a1-8a3cf0f3a4e1-__WRIT__"} {
		theirs, err := other.zk.Create(ctx, path.Join(lock, name), nil, zksession.EphemeralSequential)
		if err != nil {
			t.Fatal(err)
		}
		write := queueRW(t, "rw", s, lock, true)
		if write.ahead != 1 {
			t.Errorf("%s: %d ahead", name, write.ahead)
		}
		if err := other.zk.Delete(ctx, theirs); err != nil {
			t.Fatal(err)
		}
		released(t, write.hold(t))
	}
}

func TestRWParticipants(t *testing.T) {
	s, other, lock := connected(t, SessionConfig{}), connected(t, SessionConfig{}), lockPath(t)
	rw := realRW(t, "rw", s, lock, nil).(*RW)
	h := acquired(t, rw.Write())
	r := queueRW(t, "rw", other, lock, false)
	w := queueRW(t, "rw", s, lock, true)
	sessions := func(ps []Participant, err error) (ids []int64) {
		if err != nil {
			t.Error(err)
		}
		for _, p := range ps {
			if string(p.Data) != t.Name() {
				t.Errorf("%+v", p)
			}
			ids = append(ids, p.Session)
		}
		return ids
	}
	for _, c := range []struct{ got, want []int64 }{
		{sessions(rw.Participants(within(t))), []int64{s.ID(), other.ID(), s.ID()}},
		{sessions(rw.Readers(within(t))), []int64{other.ID()}},
		{sessions(rw.Writers(within(t))), []int64{s.ID(), s.ID()}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("got %x, want %x", c.got, c.want)
		}
	}
	released(t, h)
	released(t, r.hold(t))
	released(t, w.hold(t))
	empty(t, s, lock)
}
