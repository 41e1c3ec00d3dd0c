package recipes

import (
	"context"
	"errors"
	"slices"
	"testing"

	"locklab/recipes/zksession"
)

const countPath = "/counts/a"

func newCountOf(t *testing.T, s *Session, path string, seed int32) *SharedCount {
	t.Helper()
	c, err := NewSharedCount(SharedCountConfig{Session: s, Path: path, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSharedCountSeedsOnce(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	for seed := int32(7); seed < 9; seed++ {
		v, err := newCountOf(t, s, countPath, seed).Get(within(t))
		if err != nil || v.Value != 7 || v.Version != 0 || v.Zxid == 0 {
			t.Errorf("%+v, %v", v, err)
		}
	}
	if d := svc.data(countPath); !slices.Equal(d, []byte{0, 0, 0, 7}) {
		t.Errorf("data %v", d)
	}
	parent, _ := svc.Node("/counts")
	if count, _ := svc.Node(countPath); parent.Mode != zksession.Container || count.Mode != zksession.Persistent {
		t.Errorf("modes %d, %d", parent.Mode, count.Mode)
	}
}

func TestSharedCountSets(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	c := newCountOf(t, s, countPath, 1)
	ctx := within(t)
	first, err := c.Get(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetCount(ctx, -2); err != nil {
		t.Fatal(err)
	}
	if set, err := c.TrySetCount(ctx, first, 3); set || err != nil {
		t.Errorf("overwrote a value that it had not seen: %t, %v", set, err)
	}
	now, err := c.Get(ctx)
	if err != nil || now.Value != -2 || now.Zxid <= first.Zxid {
		t.Errorf("%+v after %+v, %v", now, first, err)
	}
	if set, err := c.TrySetCount(ctx, now, 3); !set || err != nil {
		t.Errorf("%t, %v", set, err)
	}
	if _, err := c.TrySetCount(ctx, Count{Version: -1}, 4); err == nil {
		t.Error("set with the version that matches any version")
	}
	svc.set(countPath, []byte("no"), 0)
	if _, err := c.Get(ctx); err == nil {
		t.Error("two bytes were accepted as a count")
	}
	if err := c.Watch(ctx, func(Count) {}); err == nil || ctx.Err() != nil {
		t.Error("two bytes were accepted as a count to watch")
	}
	if _, err := NewSharedCount(SharedCountConfig{Path: countPath}); err == nil {
		t.Error("no session")
	}
	if _, err := NewSharedCount(SharedCountConfig{Session: s, Path: "a"}); !errors.Is(err, ErrInvalidPath) {
		t.Error(err)
	}
}

// A holder sets the count in the transaction that checks its hold. A client that has lost its hold cannot.
func TestSharedCountUnderAHold(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	c := newCountOf(t, s, countPath, 5)
	ctx := within(t)
	mutex, err := NewMutex(MutexConfig{Session: s, Path: "/locks/a"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := mutex.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Multi(ctx, c.SetOp(6)); !errors.Is(err, zksession.ErrNoNode) || errors.Is(err, ErrLockLost) {
		t.Errorf("set before the count existed: %v", err)
	}
	if v, err := c.Latest(ctx); err != nil || v.Value != 5 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := h.Multi(ctx, c.SetOp(6)); err != nil {
		t.Error(err)
	}
	if err := h.Release(ctx); err != nil {
		t.Error(err)
	}
	if _, err := h.Multi(ctx, c.SetOp(7)); !errors.Is(err, ErrReleased) {
		t.Errorf("set after the release: %v", err)
	}
	if v, err := c.Latest(ctx); err != nil || v.Value != 6 || v.Version != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// The request or the reply of a set is lost, and other clients may set the count in between.
func TestSharedCountLostSet(t *testing.T) {
	for name, c := range map[string]struct {
		what    fault
		others  []int32
		want    bool
		wantErr error
		value   int32 // the count after it
	}{
		"request lost":                           {loseBefore, nil, true, nil, 5},
		"request lost, another set":              {loseBefore, []int32{6}, false, nil, 6},
		"request lost, another set the same":     {loseBefore, []int32{5}, false, nil, 5},
		"request lost, others set":               {loseBefore, []int32{6, 7}, false, nil, 7},
		"reply lost":                             {loseAfter, nil, true, nil, 5},
		"reply lost, another set":                {loseAfter, []int32{6}, true, nil, 6},
		"request lost, expired":                  {expire, nil, false, zksession.ErrSessionExpired, 1},
		"reply lost, another set the same value": {loseAfter, []int32{5}, true, nil, 5},
	} {
		for _, blind := range []bool{false, true} {
			svc := newFakeService()
			other, _ := svc.session(t, nil)
			lose := count("multi", 1, c.what)
			s, z := svc.session(t, func(op, p string) fault {
				if op == "sync" {
					for _, v := range c.others {
						svc.set(countPath, encodeCount(v), 0)
					}
				}
				return lose(op, p)
			})
			shared := newCountOf(t, s, countPath, 1)
			before, err := shared.Get(within(t))
			if err != nil {
				t.Fatal(err)
			}
			want, wantValue := c.wantErr, c.value
			if blind { // if another client has set the value since, it is as if that had come just after
				err = shared.SetCount(within(t), 5)
			} else {
				var set bool
				set, err = shared.TrySetCount(within(t), before, 5)
				if set != c.want {
					t.Errorf("%s: set %t", name, set)
				}
			}
			if !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s, blind=%t: %v, want %v", name, blind, err, want)
			}
			if v, err := newCountOf(t, other, countPath, 0).Get(within(t)); err != nil || v.Value != wantValue {
				t.Errorf("%s, blind=%t: %+v, %v, want %d", name, blind, v, err, wantValue)
			}
			if z.counts["multi"] > 2 {
				t.Errorf("%s: %v", name, z.counts)
			}
		}
	}
}

// Watch sees the present value and later ones in order, even after a reconnect to a server that has forgotten the
// watch, and when the znode is deleted and created again.
func TestSharedCountWatch(t *testing.T) {
	svc := newFakeService()
	s, z := svc.session(t, nil)
	c := newCountOf(t, s, countPath, 1)
	seen := make(chan Count)
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() {
		ended <- c.Watch(ctx, func(v Count) {
			select {
			case seen <- v:
			case <-ctx.Done():
			}
		})
	}()
	last := int64(0)
	expect := func(value int32) {
		t.Helper()
		select {
		case v := <-seen:
			if v.Value != value || v.Zxid <= last {
				t.Errorf("%+v after zxid %d, want %d", v, last, value)
			}
			last = v.Zxid
		case <-ctx.Done():
			t.Fatalf("no %d", value)
		}
	}
	expect(1)
	svc.set(countPath, encodeCount(2), 0)
	expect(2)
	// While the callback does not return, two changes become one.
	svc.set(countPath, encodeCount(2), 0)
	expect(2)
	eventually(t, "it watches", func() bool { return svc.watching(countPath) == 1 })
	z.HoldEvents() // no event tells of the change
	svc.set(countPath, encodeCount(3), 0)
	z.reconnect()
	expect(3)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ctx = within(t)
	go func() { ended <- newCountOf(t, s, "/counts/b", 4).Watch(ctx, func(Count) {}) }()
	eventually(
		t,
		"the count is created",
		func() bool { _, exists := svc.Node("/counts/b"); return exists },
	)
	z.end(zksession.ErrSessionExpired)
	if err := <-ended; !errors.Is(err, zksession.ErrSessionExpired) {
		t.Error(err)
	}
}

// Each request of every operation is lost in every way.
func TestSharedCountUnderLoss(t *testing.T) {
	for _, what := range []fault{loseBefore, loseAfter, expire, expireThen} {
		for n := 1; ; n++ {
			svc := newFakeService()
			requests := 0
			s, z := svc.session(t, func(string, string) fault {
				if requests++; requests == n {
					return what
				}
				return pass
			})
			c := newCountOf(t, s, countPath, 1)
			v, err := c.Get(within(t))
			if err == nil && v.Value != 1 {
				t.Errorf("fault %d at %d: %+v", what, n, v)
			}
			if err == nil {
				if err = c.SetCount(within(t), 2); err == nil {
					v, err = c.Get(within(t))
					if err == nil && v.Value != 2 {
						t.Errorf("fault %d at %d: %+v", what, n, v)
					}
				}
			}
			if z.Err() == nil && err != nil || z.Err() != nil && !errors.Is(err, zksession.ErrSessionExpired) {
				t.Errorf("fault %d at %d: %v", what, n, err)
			}
			if requests < n {
				break
			}
		}
	}
}
