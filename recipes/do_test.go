package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"locklab/recipes/zksession"
)

// Whatever becomes of the work, the lock is released when it is over, and the error says all that went wrong.
func TestDo(t *testing.T) {
	errWork := errors.New("the work failed")
	for recipe := range makers {
		svc := newFakeService()
		s, z := svc.session(t, nil)
		l := newLock(t, recipe, s, nil)
		ctx, cancel := context.WithCancel(within(t))
		defer cancel()
		free := func(when string) {
			t.Helper()
			if left := svc.ephemerals(); len(left) != 0 {
				t.Errorf("%s: %s: left behind: %v", recipe, when, left)
			}
		}
		if err := Do(ctx, l, func(inside context.Context, h *Hold) error {
			if h.Path() != svc.ephemerals()[0] || !h.Valid() || inside.Err() != nil {
				t.Errorf("%s: the hold of %s: %v", recipe, h.Path(), inside.Err())
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", recipe, err)
		}
		free("done")
		if err := Do(ctx, l, func(context.Context, *Hold) error { return errWork }); !errors.Is(err, errWork) ||
			errors.Is(err, ErrLockLost) {
			t.Errorf("%s: %v", recipe, err)
		}
		free("failed")
		func() {
			defer func() {
				if r := recover(); r != errWork {
					t.Errorf("%s: recovered %v", recipe, r)
				}
			}()
			_ = Do(ctx, l, func(context.Context, *Hold) error { panic(errWork) })
		}()
		free("panicked")
		err := Do(ctx, l, func(inside context.Context, h *Hold) error {
			svc.remove(h.Path())
			<-inside.Done() // the work ends with the hold
			return nil
		})
		if !errors.Is(err, ErrLockLost) {
			t.Errorf("%s: the hold was lost, but: %v", recipe, err)
		}
		if err == nil || !strings.HasPrefix(err.Error(), "while the work ran: ") || strings.Contains(err.Error(), "release") {
			t.Errorf("%s: the loss is not the release's fault: %v", recipe, err)
		}
		err = Do(ctx, l, func(inside context.Context, h *Hold) error {
			svc.remove(h.Path()) // another permit of the hold before may still be there
			<-inside.Done()
			return fmt.Errorf("%w: %w", errWork, context.Cause(inside))
		})
		if !errors.Is(err, errWork) || strings.Count(fmt.Sprint(err), ErrLockLost.Error()) != 1 {
			t.Errorf("%s: work that tells the loss: %v, want it once", recipe, err)
		}
		eventually(t, recipe+": lost", func() bool { return len(svc.ephemerals()) == 0 })
		if err := Do(ctx, l, func(inside context.Context, _ *Hold) error {
			cancel()
			<-inside.Done()
			return nil
		}); err != nil {
			t.Errorf("%s: cancelled, and then released: %v", recipe, err)
		}
		free("cancelled")
		z.end(zksession.ErrSessionExpired)
		work := func(context.Context, *Hold) error { t.Errorf("%s: work without a lock", recipe); return nil }
		if err := Do(within(t), l, work); !errors.Is(err, zksession.ErrSessionExpired) {
			t.Errorf("%s: %v", recipe, err)
		}
	}
}

// Do works under several locks as under one: the work ends with the first that is lost, and the others are released.
func TestDoMulti(t *testing.T) {
	svc := newFakeService()
	s, _ := svc.session(t, nil)
	var members []Member
	for _, at := range []string{"/a", "/b"} {
		m, err := NewMutex(MutexConfig{Session: s, Path: at})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, Member{at, m})
	}
	both, err := NewMulti(MultiConfig{Members: members})
	if err != nil {
		t.Fatal(err)
	}
	if err := Do(within(t), both, func(ctx context.Context, h *MultiHold) error {
		if len(svc.ephemerals()) != 2 || !h.Valid() || ctx.Err() != nil {
			t.Errorf("held by %v, %v", svc.ephemerals(), ctx.Err())
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	err = Do(within(t), both, func(ctx context.Context, h *MultiHold) error {
		svc.remove(h.Holds()[1].Path())
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, ErrLockLost) || strings.Count(err.Error(), "was deleted") != 1 {
		t.Errorf("the second was lost: %v", err)
	}
	if err := s.Close(within(t)); err != nil { // waits for the release of the first
		t.Error(err)
	}
	if left := svc.ephemerals(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}
