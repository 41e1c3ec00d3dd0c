package client

import (
	"context"
	"errors"
	"slices"
	"testing"

	"locklab/recipes"
)

// stubZooKeeper is a connection that only lives and ends.
type stubZooKeeper struct {
	recipes.ZooKeeper // nil: nothing is asked of it
	id                int64
	over              chan struct{}
	closed            *[]int64
}

func (z stubZooKeeper) ID() int64             { return z.id }
func (z stubZooKeeper) Done() <-chan struct{} { return z.over }
func (z stubZooKeeper) Err() error {
	select {
	case <-z.over:
		return recipes.ErrSessionExpired
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

// Clients of a group share the session that lives, and its last user closes it.
func TestClientsShareSessions(t *testing.T) {
	ctx := t.Context()
	var made []stubZooKeeper
	var closed []int64
	connect := func(context.Context) (*recipes.Session, error) {
		made = append(made, stubZooKeeper{id: int64(len(made) + 1), over: make(chan struct{}), closed: &closed})
		return recipes.NewSession(made[len(made)-1], nil), nil
	}
	var g sharing
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
	close(made[0].over) // it expires, and both find that out, one after the other
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
	if s := join(); s.ID() != 3 { // what all have left is not entered again
		t.Errorf("session %d", s.ID())
	} else if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	lost := errors.New("no server")
	if _, err := g.join(ctx, func(context.Context) (*recipes.Session, error) { return nil, lost }); !errors.Is(err, lost) {
		t.Errorf("got %v", err)
	}
}

func TestClientsAreGrouped(t *testing.T) {
	cfg := valid()
	cfg.Clients, cfg.ClientsPerSession = 5, 2
	p := &process{cfg: cfg}
	var all []*client
	for i := range cfg.Clients {
		all = append(all, newClient(p, i))
	}
	for i, c := range all {
		for j, d := range all {
			if same := i/2 == j/2; (c.session == d.session) != same {
				t.Errorf("clients %d and %d share a session: %t, want %t", i, j, c.session == d.session, same)
			}
		}
	}
}

// Sessions are dealt to those servers that they are pinned to; the others come last.
func TestPinnedServers(t *testing.T) {
	cfg := valid()
	a, b, c := "10.0.0.1:2181", "10.0.0.2:2181", "10.0.0.3:2181"
	for pinned, want := range map[int][][]string{1: {{a, b, c}, {a, b, c}}, 2: {{a, b, c}, {b, a, c}, {a, b, c}}} {
		cfg.Pinned = pinned
		for session, order := range want {
			if got := cfg.serversFor(session); !slices.Equal(got, order) {
				t.Errorf("pinned to %d, session %d: %v, want %v", pinned, session, got, order)
			}
		}
	}
}
