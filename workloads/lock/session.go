package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"locklab/harness/history"
	"locklab/recipes"
)

// A session is a session of package recipes with its locks. A lock is made when it is first wanted, because there may
// be thousands of sessions and hundreds of locks, most of which a session never uses.
type session struct {
	*sharedSession
	make  maker
	c     Client
	locks map[string]modes
}

// A maker makes a lock at a path, in a session, for a client. queued is called with the place in its queue.
type maker func(s *recipes.Session, path string, c *Client, queued func(ahead int)) (modes, error)

// inSession opens sources of locks that make makes in sessions of package recipes.
func inSession(make maker) Opener {
	return func(ctx context.Context, c Client) (Source, error) {
		shared, err := c.Sharing.join(ctx, func(ctx context.Context) (*recipes.Session, error) {
			// Which clients stop believing by a clock of their own is the guard's choice. All others believe until they are
			// told, so that a run shows what a lock alone lets through, and not whether a timer or a write was faster.
			return recipes.Connect(ctx,
				recipes.SessionConfig{Config: c.Config, LeaseClock: c.LeaseClock, HoldsEnd: recipes.WhenTold})
		})
		if err != nil {
			return nil, err
		}
		s := session{sharedSession: shared, make: make, c: c, locks: map[string]modes{}}
		if _, err := s.at(c.Locks[0]); err != nil { // a lock that cannot be made must be reported before the work begins
			_ = s.Close(ctx) // err says what matters
			return nil, err
		}
		return s, nil
	}
}

func (s session) at(path string) (modes, error) {
	if m, ok := s.locks[path]; ok {
		return m, nil
	}
	m, err := s.make(s.Session, path, &s.c, func(ahead int) { s.c.Queued(path, ahead) })
	if err == nil {
		s.locks[path] = m
	}
	return m, err
}

// Acquire implements [Source].
func (s session) Acquire(ctx context.Context, w Want) (*Grant, error) {
	if len(w.Paths) > 1 {
		return s.several(ctx, w)
	}
	m, err := s.at(w.Paths[0])
	if err != nil {
		return nil, err
	}
	l := m.in(w.Mode)
	if l == nil {
		return nil, fmt.Errorf("the recipe has no mode %q", w.Mode)
	}
	acquire := l.Acquire
	if s.c.Try {
		try, ok := l.(recipes.TryLock)
		if !ok {
			return nil, errors.New("the recipe cannot try: it can only wait")
		}
		acquire = try.TryAcquire
	}
	h, err := acquire(ctx)
	if err != nil {
		return nil, err
	}
	return Single(w.Paths[0], w.Mode, h), nil
}

// Look implements [Looker].
func (s session) Look(ctx context.Context, path string) error {
	m, err := recipes.NewMutex(recipes.MutexConfig{Session: s.Session, Path: path})
	if err == nil {
		_, err = m.Participants(ctx)
	}
	return err
}

// several acquires a lock of locks, in the order wanted.
func (s session) several(ctx context.Context, w Want) (*Grant, error) {
	var cfg recipes.MultiConfig
	for _, path := range w.Paths {
		l, err := s.at(path)
		if err != nil {
			return nil, err
		}
		cfg.Members = append(cfg.Members, recipes.Member{Key: path, Lock: l.in(w.Mode)})
	}
	m, err := recipes.NewMulti(cfg)
	if err != nil {
		return nil, err
	}
	acquire := m.Acquire
	if s.c.Try {
		acquire = m.TryAcquire
	}
	h, err := acquire(ctx)
	if err != nil {
		return nil, err
	}
	g := &Grant{Release: h.Release}
	for _, k := range h.Holds() {
		g.Parts = append(g.Parts, Part{Lock: k.Key, Token: k.Token(), Use: k.Token(), Hold: k.Hold})
	}
	return g, nil
}

// Downgrade implements [Downgrader].
func (s session) Downgrade(ctx context.Context, write *Grant) (*Grant, error) {
	p := write.Parts[0]
	under := s.locks[p.Lock].downgrade // which is there, as it is held
	if under == nil {
		return nil, ErrNoDowngrade
	}
	h, err := under(ctx, p.Hold)
	if err != nil {
		return nil, err
	}
	return Single(p.Lock, history.ModeRead, h), nil
}

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
