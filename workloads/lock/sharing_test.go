package lock

import (
	"context"
	"errors"
	"slices"
	"testing"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// stubZooKeeper is a connection that only lives and ends.
type stubZooKeeper struct {
	zksession.ZooKeeper // nil: the test sends no request
	id                  int64
	over                chan struct{}
	closed              *[]int64
}

func (z stubZooKeeper) ID() int64             { return z.id }
func (z stubZooKeeper) Done() <-chan struct{} { return z.over }
func (z stubZooKeeper) Err() error {
	select {
	case <-z.over:
		return zksession.ErrSessionExpired
	default:
		return nil
	}
}
func (z stubZooKeeper) Close(context.Context) error {
	*z.closed = append(*z.closed, z.id)
	if z.Err() == nil {
		close(z.over)
	}
	return nil
}

// Clients of a group share one live session, and the last of them to leave closes it.
func TestClientsShareSessions(t *testing.T) {
	ctx := t.Context()
	var made []stubZooKeeper
	var closed []int64
	connect := func(context.Context) (*recipes.Session, error) {
		made = append(made, stubZooKeeper{id: int64(len(made) + 1), over: make(chan struct{}), closed: &closed})
		return recipes.NewSession(made[len(made)-1], nil), nil
	}
	var g Sharing
	join := func() *sharedSession {
		s, err := g.join(ctx, connect)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := join(), join()
	if a.ID() != 1 || b.ID() != 1 {
		t.Fatalf("sessions %d and %d, want one", a.ID(), b.ID())
	}
	close(made[0].over) // it expires, and both clients find that out, one after the other
	if err := a.Close(ctx); err != nil {
		t.Fatal(err)
	}
	a = join()
	if err := b.Close(ctx); err != nil {
		t.Fatal(err)
	}
	b = join()
	if a.ID() != 2 || b.ID() != 2 {
		t.Errorf("new sessions %d and %d, want one", a.ID(), b.ID())
	}
	if !slices.Equal(closed, []int64{1}) {
		t.Errorf("closed %v, want the first alone, when both had left it", closed)
	}
	for _, s := range []*sharedSession{a, b} {
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(closed, []int64{1, 2}) {
		t.Errorf("closed %v", closed)
	}
	if s := join(); s.ID() != 3 { // a session that all clients have left is not used again
		t.Errorf("session %d", s.ID())
	} else if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	lost := errors.New("no server")
	if _, err := g.join(ctx, func(context.Context) (*recipes.Session, error) { return nil, lost }); !errors.Is(
		err,
		lost,
	) {
		t.Errorf("got %v", err)
	}
}
