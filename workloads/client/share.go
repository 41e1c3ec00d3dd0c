package client

import (
	"context"
	"sync"

	"locklab/recipes"
)

// A sharing is a session for several clients. Its first one makes it, and its last one closes it.
type sharing struct {
	link link // makes its connections
	mu   sync.Mutex
	last *sharedSession
}

// A sharedSession is one that several clients use at once.
type sharedSession struct {
	*recipes.Session
	of    *sharing
	users int
}

// join returns the session, or makes one if there is none that lives. Whoever makes it speaks for
// all in the history.
func (g *sharing) join(ctx context.Context, connect func(context.Context) (*recipes.Session, error)) (*sharedSession, error) {
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

// Close leaves the session, and ends it if nobody else is in it.
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
