package lock

import (
	"context"
	"sync"

	"locklab/recipes"
)

// A Sharing is a session for several clients. The first one makes it, and the last one closes it. The zero value has
// no session yet.
type Sharing struct {
	mu   sync.Mutex
	last *sharedSession
}

// A sharedSession is one that several clients use at once.
type sharedSession struct {
	*recipes.Session
	of    *Sharing
	users int
}

// join returns the live session, or makes one if there is none. The client that makes it records its state for all.
func (g *Sharing) join(
	ctx context.Context,
	connect func(context.Context) (*recipes.Session, error),
) (*sharedSession, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.last; s != nil && s.users > 0 && s.Err() == nil {
		s.users++
		return s, nil
	}
	made, err := connect(ctx)
	if err != nil {
		return nil, err
	}
	g.last = &sharedSession{Session: made, of: g, users: 1}
	return g.last, nil
}

// Close leaves the session, and ends it if no other client is in it.
func (s *sharedSession) Close(ctx context.Context) error {
	s.of.mu.Lock()
	s.users--
	over := s.users == 0
	s.of.mu.Unlock()
	if !over {
		return nil
	}
	return s.Session.Close(ctx)
}
