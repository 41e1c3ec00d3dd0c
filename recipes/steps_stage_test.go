package recipes

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/recipes/internal/wire"
	"locklab/recipes/zksession"
)

// A stage is where one scenario is played. It has one client under test, whose connection is w, one neighbour that
// may wait behind it, and an observer that plays all other clients.
type stage struct {
	t                            *testing.T
	sc                           *scenario
	ctx                          context.Context // for everybody but the client under test
	doing                        context.Context // for the client under test
	cancel                       context.CancelFunc
	path                         string
	servers                      []string
	w                            *wire.Wire
	subject, neighbour, observer *Session
	mine, behind, theirs         Lock
	believers                    holders
	contending                   sync.Once
	queued                       chan struct{} // closed once the neighbour is queued
	passed                       chan error    // the neighbour's outcome
	forced                       atomic.Bool   // an administrator deleted the client's znodes
	plan                         *plan         // nil if there is no fault
	rests                        bool          // the client under test waited for a change
	over                         chan struct{} // closed once the client under test is done
	struck                       chan struct{} // closed once the fault, and what comes with it, has happened
	err                          error         // the outcome of the client under test
}

// play runs a scenario, with one fault if p is set, and checks what is left. It returns the requests of the client
// under test in order, whether it waited for a change, and its outcome.
func (sc *scenario) play(
	t *testing.T,
	servers []string,
	observer *Session,
	p *plan,
) (order []int32, rests bool, err error) {
	st := sc.setUp(t, servers, observer, p)
	leave := func(context.Context) error { return nil }
	waits := false
	if sc.inTheWay != nil {
		var err error
		if leave, err = sc.inTheWay(st); err != nil {
			t.Fatal(err)
		}
		waits = true
	}
	before := len(st.w.Order())
	if p != nil && p.step != idle {
		st.arm(p)
	}
	done := make(chan error, 1)
	go func() {
		done <- sc.act(st)
		close(st.over)
	}()
	if waits {
		count := countOf(st.path)
		if sc.theirs == nil {
			count = ""
		}
		eventually(
			t,
			"the client waits, or has ended",
			func() bool { return len(done) > 0 || !sc.answers && waiting(st.subject, count) },
		)
		st.contend()
		st.rests = len(done) == 0 && !sc.answers
		reconnect := st.disturb()
		if err := leave(st.ctx); err != nil {
			t.Errorf("the client in the way: %v", err)
		}
		reconnect()
	}
	err = <-done
	if p != nil && p.kind.muteNext {
		// A hold that the silence has ended may be over before the connection is.
		eventually(t, "another connection after the mute one", func() bool { return st.w.Dials() >= 3 })
		_ = st.subject.zk.Await(st.ctx)
	}
	st.err = err
	order = st.w.Order()[before:]
	st.judge(err, p)
	st.contend() // if the client under test has not done so
	if st.neighbour != nil {
		if err := <-st.passed; err != nil {
			t.Errorf("the client behind: %v", err)
		}
	}
	if st.theirs != nil {
		if err := st.pass(st.theirs); err != nil {
			t.Errorf("the next client: %v", err)
		}
	}
	if sc.after != nil {
		sc.after(st)
	}
	st.nothingLeft()
	return order, st.rests, err
}

func (sc *scenario) setUp(t *testing.T, servers []string, observer *Session, p *plan) *stage {
	t.Helper()
	st := &stage{t: t, sc: sc, plan: p, ctx: within(t), path: lockPath(t), w: wire.New(), servers: servers,
		observer: observer,
		queued:   make(chan struct{}), passed: make(chan error, 1), over: make(chan struct{}),
		struck: make(chan struct{})}
	st.doing, st.cancel = context.WithCancel(st.ctx)
	t.Cleanup(st.cancel)
	if sc.fresh {
		st.path += "/deep"
	}
	cfg := SessionConfig{Config: zksession.Config{Servers: servers, Dial: st.w.Dial}}
	if p != nil {
		cfg.Timeout, cfg.HoldsEnd = p.kind.timeout, p.kind.holdsEnd
	}
	st.subject = connected(t, cfg)
	st.subject.unwatched = unwatched{queued: never} // so that the steps are always the same ones
	if sc.watchful {
		st.subject.unwatched.queued = 0
	}
	if sc.answers {
		st.subject.unwatched.held = never // one of several locks that is given back at once may be watched before, or not
	}
	if sc.mine != nil {
		st.mine = sc.mine(t, st.subject, st.path, nil)
	}
	if sc.theirs != nil {
		st.theirs = sc.theirs(t, observer, st.path, nil)
		if !sc.fresh { // the parents
			if err := st.pass(st.theirs); err != nil {
				t.Fatal(err)
			}
		}
	}
	if p != nil && p.behind {
		st.neighbour = connected(
			t,
			SessionConfig{Config: zksession.Config{Servers: rotated(servers), Timeout: 20 * time.Second}},
		)
		st.behind = sc.theirs(t, st.neighbour, st.path, func(int) { st.isQueued() })
	}
	return st
}

// arm prepares the fault.
func (st *stage) arm(p *plan) {
	at := p.step
	if at == idle {
		at = step{wire.OpGetData, 1} // see [stage.disturb]
	}
	st.w.Strike(at.op, at.n, p.kind.fault, func() {
		defer close(st.struck)
		if p.kind.muteNext {
			st.w.MuteDials(1)
		}
		if p.kind.unwatched {
			st.w.Strike(wire.OpSetWatches, 1, wire.RequestLost, func() {
				if p.kind.another {
					_ = st.another()
				}
			})
		}
		if p.kind.kill {
			st.w.Refuse(true)
		}
		st.contend()
		if p.kind.kill {
			for !st.w.Kill(st.servers[p.step.n%len(st.servers)]) && st.ctx.Err() == nil {
			}
			st.w.Refuse(false)
		}
		if p.kind.cancel {
			st.cancel()
		}
		if p.kind.force {
			st.forced.Store(true)
			st.deleteAll()
		}
	})
}

// waiting reports whether a client waits for another one: all its watches are set, and one is on a list or on another
// client's znode. Waiting for a count is recognised only if the client waits for nothing else.
func waiting(s *Session, count string) bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	waits := false
	for t, w := range s.hub.watches {
		select {
		case <-w.armed:
		default:
			return false
		}
		waits = waits || t.list || t.path != count && w.seen.stat.Owner != s.ID()
	}
	return waits
}

func (st *stage) isQueued() {
	select {
	case <-st.queued:
	default:
		close(st.queued)
	}
}

// contend lets the neighbour contend, if there is one that has not begun, and returns once it has its place in the
// queue.
func (st *stage) contend() {
	if st.neighbour == nil {
		return
	}
	st.contending.Do(func() {
		over := make(chan struct{})
		go func() {
			st.passed <- st.pass(st.behind)
			close(over)
		}()
		select {
		case <-st.queued:
		case <-over:
		}
	})
}

// pass acquires and releases a lock for one of the other clients.
func (st *stage) pass(l Lock) error {
	h, err := l.Acquire(st.ctx)
	if err != nil {
		return err
	}
	if err := st.sc.theirsIsReal(st, h); err != nil {
		st.t.Errorf("another client's hold: %v", err)
	}
	leave := st.believe(h)
	leave()
	return h.Release(st.ctx)
}

// believe notes that a client relies on a hold until the result is called.
func (st *stage) believe(h *Hold) (leave func()) {
	if st.sc.together {
		return func() {}
	}
	return st.believers.enter(st.t, "belief", h)
}

// use is the standard behaviour of the client under test: it acquires, lets the neighbour queue behind it, and
// releases.
func use(st *stage) error {
	h, err := st.mine.Acquire(st.doing)
	if err != nil {
		return err
	}
	if st.granted(h, st.sc.mineIsReal) {
		leave := st.believe(h)
		st.contend()
		leave()
	}
	return h.Release(st.doing)
}

// granted checks a hold of the client under test at the service. If the service does not confirm the hold, the client
// has to learn of that, and granted returns false.
func (st *stage) granted(h *Hold, real reality) bool {
	err := real(st, h)
	if err == nil {
		st.watched(h)
		return h.Context().Err() == nil // a fault may have hit that watch
	}
	select {
	case <-h.Context().Done():
	case <-st.ctx.Done():
		st.t.Errorf("the service does not confirm the hold: %v", err)
	}
	return false
}

// watched waits until a hold watches its znodes, or has ended, which it does if an administrator has deleted them.
func (st *stage) watched(h *Hold) {
	eventually(st.t, "the hold watches its znodes", func() bool {
		if h.Context().Err() != nil || st.doing.Err() != nil {
			return true
		}
		own := st.own()
		return len(own) > 0 && !slices.ContainsFunc(own, func(node string) bool {
			_, ok := watchOn(st.subject, target{path: node})
			return !ok
		})
	})
}

// judge checks the outcome of the client under test.
func (st *stage) judge(err error, p *plan) {
	t := st.t
	t.Helper()
	ends := lives
	if p != nil {
		ends = p.kind.ends
		most := 1
		if p.kind.unwatched {
			most = 2 // or one, if nothing was watched at that moment
		}
		if n := st.w.Losses(); n < 1 || n > most {
			t.Errorf("%d faults happened, want one", n)
		}
	}
	// If this process stands still for too long beside a fault that leaves little time, the servers end the session
	// rightly.
	if p != nil && ends != dies && st.w.Silence() >= p.kind.timeout {
		t.Logf("the servers heard nothing of the session for up to %v", st.w.Silence())
		ends = either
	}
	lost := errors.Is(err, zksession.ErrSessionExpired) || errors.Is(err, ErrLockLost)
	allowed := err == nil || p != nil && st.sc.undecided && errors.Is(err, zksession.ErrConnectionLoss)
	switch ends {
	case cancelled:
		allowed = allowed || errors.Is(err, context.Canceled)
	case loses:
		allowed = allowed || errors.Is(err, ErrLockLost)
	case dies:
		allowed = lost || err == nil && st.sc.answers
	case either:
		allowed = allowed || lost
	}
	if !allowed {
		t.Errorf("the client ended with: %v", err)
	}
	switch ends {
	case dies:
		select {
		case <-st.subject.Done():
		case <-st.ctx.Done():
			t.Error("the session does not end")
		}
		if !errors.Is(st.subject.Err(), zksession.ErrSessionExpired) {
			t.Errorf("the session: %v", st.subject.Err())
		}
	case lives, cancelled, loses:
		if err := st.subject.Err(); err != nil {
			t.Errorf("the session: %v", err)
		}
	}
}

// nothingLeft checks, by what the servers report, that no client has left a znode or a watch, and that the sessions
// end when they are closed.
func (st *stage) nothingLeft() {
	t := st.t
	t.Helper()
	var v serviceView
	left := func() []string {
		v = lookAtService(t, st.servers)
		return append(
			below(v.ephemerals, st.path),
			append(below(v.watched, st.path), below(v.watched, countOf(st.path))...)...)
	}
	eventually(t, "nothing is left", func() bool { return len(left()) == 0 })
	var ids []int64
	for _, s := range []*Session{st.subject, st.neighbour} {
		if s == nil {
			continue
		}
		ids = append(ids, s.ID())
		// A request whose outcome stays unknown returns before the client is connected again, and only a client that
		// is connected can end its session.
		eventually(t, "the client is connected", func() bool {
			return s.zk.Sync(st.ctx, "/") == nil || s.Err() != nil
		})
		if err := s.Close(st.ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	eventually(t, "the sessions are gone", func() bool {
		v = lookAtService(t, st.servers)
		return !slices.ContainsFunc(ids, v.knows)
	})
}
