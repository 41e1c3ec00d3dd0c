package recipes

import (
	"context"
	"errors"
	"testing"
)

// An attempt ends while its list is under way, and the list is answered only after the attempt's znode has gone. One
// watch is left, however many other attempts give up after it, and the next release ends it.
func TestNaiveRWWatchesLeft(t *testing.T) {
	svc := newFakeService()
	lists, deleted := make(chan struct{}), make(chan struct{})
	s, z := svc.session(t, func(op, _ string) fault {
		if op == "list" {
			select {
			case lists <- struct{}{}: // only the very first
				<-deleted
			case <-deleted:
			}
		}
		return pass
	})
	other, _ := svc.session(t, nil)
	h, err := newRW(t, "naive-rw", other, nil).Write().Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	left := func() int { return svc.listing("/locks/a") }
	for i := range 10 {
		ctx, cancel := context.WithCancel(within(t))
		gaveUp := make(chan error, 1)
		go func() { _, err := newRW(t, "naive-rw", s, nil).Write().Acquire(ctx); gaveUp <- err }()
		if i == 0 {
			<-lists
		} else {
			eventually(t, "the attempt lists the directory", func() bool { return z.count("children")+z.count("list") > i })
		}
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		eventually(t, "its znode is gone", func() bool { return len(svc.ephemerals()) == 1 })
		if i == 0 {
			close(deleted)
			eventually(t, "one watch is left", func() bool { return left() == 1 })
		}
	}
	if n := left(); n > 1 {
		t.Errorf("%d watches left", n)
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
	eventually(t, "no watch is left", func() bool { return left() == 0 })
}
