package recipes

import (
	"context"
	"testing"

	"locklab/recipes/zksession"
)

// A heldBack session delivers no watch event until its gate opens.
type heldBack struct {
	*fakeSession
	gate chan struct{}
}

func (z heldBack) GetW(
	ctx context.Context,
	path string,
	fired func(zksession.Event),
) ([]byte, zksession.Stat, error) {
	return z.fakeSession.GetW(ctx, path, func(e zksession.Event) { <-z.gate; fired(e) })
}

// The event for the deletion of the last holder's znode reaches the session after one of its clients has become the
// holder, under the same path. The session must not take that event for the loss of its own hold, because the release
// would then leave the znode behind.
func TestStaleDeletionEndsNoHold(t *testing.T) {
	svc := newFakeService()
	other, _ := svc.session(t, nil)
	_, z := svc.session(t, nil)
	gate := make(chan struct{})
	s := NewSession(heldBack{z, gate}, nil)
	defer s.Close(context.Background())

	last, err := newLock(t, "naive", other, nil).Acquire(within(t))
	if err != nil {
		t.Fatal(err)
	}
	queued, waited := make(chan struct{}), make(chan error, 1)
	waiter := newLock(t, "naive", s, func(int) { close(queued) })
	go func() { waited <- useOnce(t, "waiter", within(t), waiter, new(holders)) }()
	<-queued // its watch is on the last holder's znode
	if err := last.Release(within(t)); err != nil {
		t.Fatal(err)
	}
	h, err := newLock(t, "naive", s, nil).Acquire(within(t)) // overtakes the waiter
	if err != nil {
		t.Fatal(err)
	}
	close(gate)
	eventually(t, "the hold's znode is watched again", func() bool { return svc.watching("/locks/a") == 1 })
	if h.Context().Err() != nil {
		t.Errorf("lost: %v", context.Cause(h.Context()))
	}
	if err := h.Release(within(t)); err != nil {
		t.Error(err)
	}
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if left := svc.ephemerals(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}
