package recipes

import (
	"context"
	"testing"

	"locklab/recipes/zksession"
)

// is checks where an acquire stands.
func (p *Position) is(t *testing.T, when string, want int, queued bool) {
	t.Helper()
	if ahead, ok, err := p.Ahead(within(t)); ahead != want || ok != queued || err != nil {
		t.Errorf("%s: %d ahead, queued: %t, %v; want %d, %t", when, ahead, ok, err, want, queued)
	}
}

// While an acquire waits, others can ask where it stands, and how long the queue is, for one request each.
func TestPositionInMutex(t *testing.T) {
	svc := newFakeService()
	s, z := svc.session(t, nil)
	queued := make(chan int, 1)
	l, err := NewMutex(MutexConfig{Session: s, Path: "/locks/a", OnQueued: func(n int) { queued <- n }})
	if err != nil {
		t.Fatal(err)
	}
	length := func(want int) {
		t.Helper()
		if n, err := l.Length(within(t)); n != want || err != nil {
			t.Errorf("%d in the queue, %v; want %d", n, err, want)
		}
	}
	length(0)
	type waiter struct {
		*Position
		hold   chan *Hold
		giveUp context.CancelFunc
	}
	var all []waiter
	for range 3 {
		ctx, cancel := context.WithCancel(within(t))
		w := waiter{hold: make(chan *Hold, 1), giveUp: cancel}
		ctx, w.Position = WithPosition(ctx)
		w.is(t, "before", 0, false)
		go func() {
			h, err := l.Acquire(ctx)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			w.hold <- h
		}()
		if n := <-queued; n != len(all) {
			t.Errorf("%d ahead", n)
		}
		w.is(t, "queued", len(all), true)
		all = append(all, w)
	}
	// Each acquire makes one read of its own after it is queued, which need not be over when the callback is called.
	eventually(t, "each has read", func() bool { return z.count("get") == len(all) })
	lists, gets := z.count("children"), z.count("get")
	length(3)
	all[2].is(t, "the last", 2, true)
	if z.count("children") != lists+1 || z.count("get") != gets+1 {
		t.Errorf("%d lists and %d reads for one of each", z.count("children")-lists, z.count("get")-gets)
	}
	all[1].giveUp()
	<-all[1].hold
	eventually(t, "its znode is gone", func() bool { _, ok, _ := all[1].Ahead(within(t)); return !ok })
	all[2].is(t, "one has given up", 1, true)
	released(t, <-all[0].hold)
	all[0].is(t, "released", 0, false)
	h := <-all[2].hold
	all[2].is(t, "holds", 0, true)
	length(1)
	released(t, h)
	length(0)
}

// A reader counts the writers before it and those before them, as OnQueued does. The head of a semaphore's queue has no
// contender ahead of it.
func TestPositionElsewhere(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	queued := make(chan int, 1)
	rw, err := NewRW(RWConfig{Session: s, Path: "/rw", OnQueued: func(n int) { queued <- n }})
	if err != nil {
		t.Fatal(err)
	}
	sem, err := NewSemaphore(SemaphoreConfig{Session: s, Path: "/sem", Max: 1, OnQueued: func(n int) { queued <- n }})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(l Lock) (*Position, chan *Hold) {
		ctx, p := WithPosition(within(t))
		got := make(chan *Hold, 1)
		go func() {
			h, err := l.Acquire(ctx)
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		<-queued
		return p, got
	}
	reader, r1 := wait(rw.Read())
	writer, w := wait(rw.Write())
	second, r2 := wait(rw.Read())
	reader.is(t, "the first reader", 0, true)
	writer.is(t, "the writer", 1, true)
	second.is(t, "the second reader", 2, true)
	if n, err := rw.Length(within(t)); n != 3 || err != nil {
		t.Errorf("%d in the queue, %v", n, err)
	}
	for _, got := range []chan *Hold{r1, w, r2} {
		released(t, <-got)
	}

	holder, got := wait(sem.Of(1))
	h := <-got
	holder.is(t, "a holder of a permit", 0, false)
	head, next := wait(sem.Of(1))
	behind, last := wait(sem.Of(1))
	head.is(t, "the head of the semaphore's queue", 0, true)
	behind.is(t, "behind the head", 1, true)
	if n, err := sem.Length(within(t)); n != 2 || err != nil {
		t.Errorf("%d wait, %v", n, err)
	}
	released(t, h)
	released(t, <-next)
	released(t, <-last)
}

// The same over a connection.
func TestPositionOverAConnection(t *testing.T) { onBoth(t, testPosition) }

func testPosition(t *testing.T, servers []string) {
	s, lock := connected(t, SessionConfig{Config: zksession.Config{Servers: servers}}), lockPath(t)
	queued := make(chan int, 1)
	l, err := NewMutex(MutexConfig{Session: s, Path: lock, OnQueued: func(n int) { queued <- n }})
	if err != nil {
		t.Fatal(err)
	}
	var at []*Position
	hold := make(chan *Hold)
	for n := range 3 {
		ctx, p := WithPosition(within(t))
		go func() {
			h, err := l.Acquire(ctx)
			if err != nil {
				t.Error(err)
			}
			hold <- h
		}()
		if ahead := <-queued; ahead != n {
			t.Errorf("%d ahead of contender %d", ahead, n)
		}
		at = append(at, p)
	}
	for n := range 3 {
		h := <-hold
		if length, err := l.Length(within(t)); length != 3-n || err != nil {
			t.Errorf("%d contenders, %v, want %d", length, err, 3-n)
		}
		for i, p := range at[n:] {
			p.is(t, "in the queue", i, true)
		}
		released(t, h)
		at[n].is(t, "after the release", 0, false)
	}
}
