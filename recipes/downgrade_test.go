package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

func testRW(t *testing.T, s *Session, queued func(int)) *RW {
	t.Helper()
	return newRW(t, "rw", s, queued).(*RW)
}

// waitingWriter queues a writer in a session of its own, and returns a channel for its hold.
func waitingWriter(t *testing.T, svc *fakeService, name string) <-chan *Hold {
	t.Helper()
	s, _ := svc.session(t, nil)
	queued := make(chan int, 1)
	rw := testRW(t, s, func(ahead int) { queued <- ahead })
	got := make(chan *Hold, 1)
	go func() {
		h, err := rw.Write().Acquire(within(t))
		if err != nil {
			t.Errorf("%s: the writer behind: %v", name, err)
		}
		got <- h
	}()
	if ahead := <-queued; ahead != 1 {
		t.Errorf("%s: the writer behind has %d ahead", name, ahead)
	}
	return got
}

// watchers counts the watches on a hold's znode, one of which is the holder's own.
func watchers(svc *fakeService, h *Hold) int {
	return svc.watching(h.place.path())
}

// Each request of a downgrade and of what follows fails in every way, while a writer waits. That writer gets in after
// the reader has left, and not before.
func TestDowngradeEveryRequestLost(t *testing.T) {
	for _, what := range []fault{loseBefore, loseAfter, expire, expireThen} {
		for n := 1; ; n++ {
			name := fmt.Sprintf("fault=%d/request=%d", what, n)
			svc := newFakeService()
			faults, injected := nth(n, what)
			var begun atomic.Bool
			s, z := svc.session(t, func(op, path string) fault {
				if begun.Load() {
					return faults(op, path)
				}
				return pass
			})
			rw := testRW(t, s, nil)
			w, err := rw.Write().Acquire(within(t))
			if err != nil {
				t.Fatal(err)
			}
			next := waitingWriter(t, svc, name)
			eventually(t, name+": the write hold is watched by both", func() bool { return watchers(svc, w) == 2 })
			begun.Store(true)
			r, err := rw.Downgrade(within(t), w)
			if err == nil {
				if r.Token() != w.Token() {
					t.Errorf("%s: token %d, the writer's is %d", name, r.Token(), w.Token())
				}
				if cause := context.Cause(w.Context()); !errors.Is(cause, ErrReleased) && z.Err() == nil {
					t.Errorf("%s: the write hold: %v", name, cause)
				}
				eventually(t, name+": the writer behind waits for the reader", func() bool {
					return watchers(svc, r) == 2 || z.Err() != nil
				})
				if err = r.Release(within(t)); err != nil {
					err = fmt.Errorf("release: %w", err)
				}
			} else if z.Err() == nil {
				t.Errorf("%s: %v", name, err)
			}
			checkOutcome(t, name, err, z, injected() && (what == expire || what == expireThen))
			if h := <-next; h != nil {
				if h.Token() <= w.Token() {
					t.Errorf("%s: token %d after %d", name, h.Token(), w.Token())
				}
				if err := h.Release(within(t)); err != nil {
					t.Error(err)
				}
			}
			eventually(t, name+": nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
			if !injected() {
				if n < 4 {
					t.Errorf("%s: the fault was never injected", name)
				}
				break
			}
		}
	}
}

// The context ends at each request of a downgrade. The write hold goes on, or has been released. A reader's znode
// that is created late is removed.
func TestDowngradeCancelledAtEveryRequest(t *testing.T) {
	for n := int32(1); ; n++ {
		name := fmt.Sprintf("request=%d", n)
		svc := newFakeService()
		var begun atomic.Bool
		var requests atomic.Int32
		reached, proceed := make(chan struct{}), make(chan struct{})
		s, z := svc.session(t, func(string, string) fault {
			if begun.Load() && requests.Add(1) == n {
				close(reached)
				<-proceed
			}
			return pass
		})
		rw := testRW(t, s, nil)
		w, err := rw.Write().Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		next := waitingWriter(t, svc, name)
		eventually(t, name+": the write hold is watched by both", func() bool { return watchers(svc, w) == 2 })
		begun.Store(true) // from here on, all requests of this session are the downgrade's
		ctx, cancel := context.WithCancel(within(t))
		type result struct {
			h   *Hold
			err error
		}
		results := make(chan result, 1)
		go func() { h, err := rw.Downgrade(ctx, w); results <- result{h, err} }()
		var got result
		over := false
		select {
		case <-reached:
			cancel()
			got = <-results // although the service does not answer
			close(proceed)
		case got = <-results:
			over = true
		}
		cancel()
		begun.Store(false)
		hold := got.h
		if got.err != nil {
			if !errors.Is(got.err, context.Canceled) || w.Context().Err() != nil {
				t.Errorf("%s: %v, the write hold: %v", name, got.err, context.Cause(w.Context()))
			}
			hold = w
			eventually(t, name+": the reader's znode is removed", func() bool { return z.count("delete") == 1 })
		}
		if hold != w {
			eventually(t, name+": the writer behind waits for the reader", func() bool { return watchers(svc, hold) == 2 })
		}
		if len(next) > 0 {
			t.Errorf("%s: the writer behind is in", name)
		}
		if err := hold.Release(within(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := (<-next).Release(within(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		eventually(t, name+": nothing left behind", func() bool { return len(svc.ephemerals()) == 0 })
		if over {
			if got.err != nil || n < 4 {
				t.Errorf("%s: %v", name, got.err)
			}
			break
		}
	}
}

func TestDowngradeIsRefused(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	other, _ := svc.session(t, nil)
	rw := testRW(t, s, nil)
	ctx := within(t)

	read, err := rw.Read().Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	naive, err := NewNoLock(s.ID()).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*Hold{read, naive, nil} {
		if _, err := rw.Downgrade(ctx, h); err == nil {
			t.Error("downgraded a hold that is not a write hold")
		}
	}
	if err := read.Release(ctx); err != nil {
		t.Error(err)
	}

	w, err := rw.Write().Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := testRW(t, other, nil).Downgrade(ctx, w); err == nil {
		t.Error("downgraded another session's hold")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := rw.Downgrade(cancelled, w); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if w.Context().Err() != nil {
		t.Error(context.Cause(w.Context()))
	}
	if err := w.Release(ctx); err != nil {
		t.Error(err)
	}
	if _, err := rw.Downgrade(ctx, w); !errors.Is(err, ErrReleased) {
		t.Error(err)
	}
	if left := svc.ephemerals(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A client that has lost the write lock gets no read lock, even if it has not heard of the loss, because the service
// refuses the downgrade. (Curator grants it from a local flag.)
func TestDowngradeAfterLoss(t *testing.T) {
	svc := newFakeService()
	_, z := svc.session(t, nil)
	gate := make(chan struct{})
	s := NewSession(heldBack{z, gate}, nil)
	defer s.Close(context.Background())
	defer close(gate)
	rw := testRW(t, s, nil)
	w, err := rw.Write().Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	next := waitingWriter(t, svc, t.Name())
	svc.remove(w.place.path()) // by force
	h := <-next
	if w.Context().Err() != nil {
		t.Error("the client has heard of its loss")
	}
	if _, err := rw.ReadUnder(within(t), w); !errors.Is(err, ErrLockLost) {
		t.Errorf("beside another writer: %v", err)
	}
	if left := svc.ephemerals(); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
}

// The reply is lost, and the writer's znode is deleted by force before the client can look for it. The reader's znode
// was created while the writer's existed, so the read hold is valid.
func TestDowngradeReplyAndWriterLost(t *testing.T) {
	svc := newFakeService()
	var w *Hold
	s, _ := svc.session(t, func(op, _ string) fault {
		switch op {
		case "multi":
			return loseAfter
		case "sync":
			svc.remove(w.place.path())
		}
		return pass
	})
	rw := testRW(t, s, nil)
	var err error
	if w, err = rw.Write().Acquire(within(t)); err != nil {
		t.Fatal(err)
	}
	next := waitingWriter(t, svc, t.Name())
	r, err := rw.ReadUnder(within(t), w)
	if err != nil {
		t.Fatal(err)
	}
	if cause := causeOf(t, w); !errors.Is(cause, ErrLockLost) {
		t.Error(cause)
	}
	eventually(t, "the writer behind waits for the reader", func() bool { return watchers(svc, r) == 2 })
	if r.Context().Err() != nil || len(next) > 0 {
		t.Errorf("the read hold: %v; writers in: %d", context.Cause(r.Context()), len(next))
	}
	if err := r.Release(within(t)); err != nil {
		t.Error(err)
	}
	if err := (<-next).Release(within(t)); err != nil {
		t.Error(err)
	}
}

// The reply is lost, and the context ends before the client can look for its znode: the reader's znode is removed,
// and the write hold goes on.
func TestDowngradeReplyLostThenCancelled(t *testing.T) {
	svc := newFakeService()
	ctx, cancel := context.WithCancel(within(t))
	s, z := svc.session(t, func(op, _ string) fault {
		switch op {
		case "multi":
			return loseAfter
		case "sync":
			cancel()
			return loseBefore
		}
		return pass
	})
	rw := testRW(t, s, nil)
	w, err := rw.Write().Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rw.Downgrade(ctx, w); !errors.Is(err, context.Canceled) || w.Context().Err() != nil {
		t.Errorf("%v, the write hold: %v", err, context.Cause(w.Context()))
	}
	eventually(
		t,
		"the reader's znode is removed",
		func() bool { return z.count("delete") == 1 && len(svc.ephemerals()) == 1 },
	)
	if err := w.Release(within(t)); err != nil {
		t.Error(err)
	}
	if left := svc.ephemerals(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A writer holds both the write and the read lock. Readers get in after the write lock is released, and another
// writer after both.
func TestReadUnderWrite(t *testing.T) {
	for _, writeFirst := range []bool{true, false} {
		svc := newFakeService()
		s, _ := svc.session(t, nil)
		rw := testRW(t, s, nil)
		ctx := within(t)
		w, err := rw.Write().Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		r, err := rw.ReadUnder(ctx, w)
		if err != nil {
			t.Fatal(err)
		}
		if a, b := w.place.name, r.place.name; a[len(a)-10:] != b[len(b)-10:] || !strings.Contains(b, "-__READ__") {
			t.Errorf("%s, downgraded %s", a, b)
		}
		queued := make(chan int, 1)
		other, _ := svc.session(t, nil)
		behind := testRW(t, other, func(ahead int) { queued <- ahead })
		got := make(chan *Hold, 1)
		go func() {
			h, err := behind.Write().Acquire(ctx)
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		if ahead := <-queued; ahead != 2 {
			t.Errorf("%d ahead, want both", ahead)
		}
		first, second := w, r
		if !writeFirst {
			first, second = r, w
		}
		if err := first.Release(ctx); err != nil {
			t.Error(err)
		}
		eventually(t, "the writer behind waits for the other", func() bool { return watchers(svc, second) == 2 })
		if len(got) > 0 || second.Context().Err() != nil {
			t.Errorf("%d writers in, the other hold: %v", len(got), context.Cause(second.Context()))
		}
		if err := second.Release(ctx); err != nil {
			t.Error(err)
		}
		if err := (<-got).Release(ctx); err != nil {
			t.Error(err)
		}
		// The read hold ends by itself when its own znode is deleted.
		if w, err = rw.Write().Acquire(ctx); err != nil {
			t.Fatal(err)
		}
		if r, err = rw.Downgrade(ctx, w); err != nil {
			t.Fatal(err)
		}
		svc.set(r.place.path(), []byte("changed"), 0) // ends nothing, although the token is another znode's
		eventually(
			t,
			"the znode is watched again",
			func() bool { return watchers(svc, r) == 1 || r.Context().Err() != nil },
		)
		svc.set(r.place.path(), []byte("changed again"), 0)
		eventually(
			t,
			"the znode is watched again",
			func() bool { return watchers(svc, r) == 1 || r.Context().Err() != nil },
		)
		if r.Context().Err() != nil {
			t.Errorf("lost by a change of data: %v", context.Cause(r.Context()))
		}
		svc.remove(r.place.path())
		if cause := causeOf(t, r); !errors.Is(cause, ErrLockLost) {
			t.Error(cause)
		}
	}
}
