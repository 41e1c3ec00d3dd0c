package zktest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// SessionConfig says how to make a [Session].
type SessionConfig struct {
	// Timeout is the session's; 0 = 10 s.
	Timeout time.Duration
	// Server is the number of the server that the session prefers. It goes to another if that one is stopped, or behind
	// what the session has seen.
	Server int
	// Decide, if set, says what happens to each request of the session, after [Service.Next] and instead of what
	// [Service.Intercept] has set. See there. It is called from many goroutines.
	Decide func(Request) Fault

	_ struct{} // no positional literals
}

// A Session is a session without a connection: a [zksession.ZooKeeper] whose calls are calls of the service. It is as
// good as heard of while it is connected, and it connects again at once. Each call is a request of its own, which a
// fault may hold up without holding up the others. There is no goroutine and no timer while nothing happens, so it
// can be used in a bubble of testing/synctest.
//
// It is a test's short way to a service. With [zksession.Connect] the code under test uses the real client.
type Session struct {
	svc    *Service
	cfg    SessionConfig
	id     int64
	calls  tasks.Set
	done   chan struct{}
	remote *session

	mu          sync.Mutex // may be taken while svc.mu is held, and not the other way round
	err         error
	connected   bool
	up          chan struct{} // closed while connected
	down        chan struct{} // closed while disconnected
	reconnected chan struct{}
	heard       time.Time // when it was disconnected
	seen        int64     // the newest transaction that an answer told of
	watchers    []*watcher
	held        chan struct{} // see HoldEvents; nil if events are not held
}

// A watcher is a call that waits for an event.
type watcher struct {
	kind  watchKind
	path  string
	event chan zksession.Event // capacity 1
}

type watchKind int

const (
	watchData watchKind = iota
	watchChildren
)

// Session returns a new session. It panics if there is no server for it.
func (s *Service) Session(cfg SessionConfig) *Session {
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	z := &Session{svc: s, cfg: cfg, done: make(chan struct{}), reconnected: make(chan struct{}),
		up: make(chan struct{}), down: make(chan struct{})}
	close(z.down)
	s.mu.Lock()
	defer s.mu.Unlock()
	z.remote = s.open(s.servers[cfg.Server], cfg.Timeout)
	z.remote.local = z
	z.id = z.remote.id
	s.attach(z.remote)
	if z.remote.link == nil {
		panic("zktest: all servers are stopped")
	}
	return z
}

// attachAll connects all sessions that are not connected and may be. s.mu is held.
func (s *Service) attachAll() {
	for _, ss := range s.sessions {
		s.attach(ss)
	}
}

// attach connects a session of this process, if it is not connected and there is a server for it. s.mu is held.
func (s *Service) attach(ss *session) {
	z := ss.local
	if z == nil || ss.link != nil || ss.cutOff {
		return
	}
	z.mu.Lock()
	seen := z.seen
	z.mu.Unlock()
	candidates := append([]*server{s.servers[z.cfg.Server]}, s.servers...)
	for _, m := range candidates {
		if m.stopped || m.zxid() < seen {
			continue
		}
		if ss.over {
			s.forget(ss)
			z.mu.Lock()
			z.finish(zksession.ErrSessionExpired)
			z.mu.Unlock()
			return
		}
		s.connect(ss, m, z)
		ss.unwatch()
		z.enter()
		m.again(ss.link, z.watching())
		return
	}
}

// enter makes the session connected. svc.mu is held.
func (z *Session) enter() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.connected = true
	close(z.up)
	close(z.reconnected)
	z.down, z.reconnected = make(chan struct{}), make(chan struct{})
}

// watching returns what the session watches. svc.mu is held.
func (z *Session) watching() (r rewatch) {
	z.mu.Lock()
	defer z.mu.Unlock()
	r.since = z.seen
	for _, w := range z.watchers {
		if w.kind == watchData {
			r.data = append(r.data, w.path)
		} else {
			r.children = append(r.children, w.path)
		}
	}
	return r
}

// notify implements client.
func (z *Session) notify(kind zk.EventType, path string, _ int64) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.watchers = slices.DeleteFunc(z.watchers, func(w *watcher) bool {
		if w.path != path {
			return false
		}
		switch {
		case kind == zk.EventNodeDeleted:
			w.event <- zksession.Deleted
		case kind == zk.EventNodeDataChanged && w.kind == watchData,
			kind == zk.EventNodeChildrenChanged && w.kind == watchChildren:
			w.event <- zksession.Changed
		default:
			return false
		}
		return true
	})
}

// broken implements client.
func (z *Session) broken(expired bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.connected = false
	z.up = make(chan struct{})
	close(z.down)
	z.heard = time.Now() // the client's clock
	if expired {
		z.finish(zksession.ErrSessionExpired)
		return
	}
	z.remote.heard = z.svc.cfg.Clock.Now()
	z.svc.guard(z.remote, z.remote.timeout)
}

// finish ends the session for the client. z.mu is held.
func (z *Session) finish(err error) {
	if z.err == nil {
		z.err = err
		close(z.done)
	}
}

// HoldEvents keeps the events of watches on their way to the caller until deliver is called, which must happen once.
// The end of the session delivers them too.
func (z *Session) HoldEvents() (deliver func()) {
	z.mu.Lock()
	defer z.mu.Unlock()
	held := make(chan struct{})
	z.held = held
	return func() {
		z.mu.Lock()
		defer z.mu.Unlock()
		if z.held == held {
			z.held = nil
		}
		close(held)
	}
}

// Service returns the service that the session is with.
func (z *Session) Service() *Service { return z.svc }

// ID and the methods below implement [zksession.ZooKeeper].
func (z *Session) ID() int64 { return z.id }

func (z *Session) Timeout() time.Duration { return z.cfg.Timeout }

func (z *Session) Done() <-chan struct{} { return z.done }

func (z *Session) Err() error {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.err
}

func (z *Session) Reconnected() <-chan struct{} {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.reconnected
}

func (z *Session) Disconnected() <-chan struct{} {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.down
}

// Heard implements [zksession.ZooKeeper]. A session that is connected has just been answered.
func (z *Session) Heard() time.Time {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.connected {
		return time.Now()
	}
	return z.heard
}

func (z *Session) Await(ctx context.Context) error {
	z.mu.Lock()
	up, err := z.up, z.err
	z.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return tasks.Ended(ctx)
	case err != nil:
		return err
	}
	select {
	case <-up:
		return nil
	case <-z.done:
		return z.Err()
	case <-ctx.Done():
		return tasks.Ended(ctx)
	}
}

func (z *Session) Close(ctx context.Context) error {
	unreachable := z.leave()
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		z.calls.Wait()
	}()
	ctx, stop := tasks.Grace(ctx, closeGrace)
	defer stop()
	select {
	case <-waited:
		return unreachable
	case <-ctx.Done():
		return fmt.Errorf("close session: %w", tasks.Ended(ctx))
	}
}

// closeGrace is the least time that Close waits for calls.
const closeGrace = time.Second

// leave ends the session, at the service too if it is connected.
func (z *Session) leave() error {
	z.svc.mu.Lock()
	defer z.svc.mu.Unlock()
	z.mu.Lock()
	was, connected := z.err, z.connected
	z.finish(zksession.ErrSessionClosed)
	z.mu.Unlock()
	if was != nil {
		return nil
	}
	if !connected {
		z.remote.local = nil // it never connects again
		z.svc.forget(z.remote)
		return fmt.Errorf("close session: %w: the server will expire it", zksession.ErrConnectionLoss)
	}
	z.svc.end(z.remote)
	return nil
}
