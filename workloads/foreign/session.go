package foreign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// The modes of an acquire; see also [Permits].
const (
	Exclusive = "exclusive"
	Read      = "read"
	Write     = "write"
)

// Permits is the mode of an acquire of k permits of a semaphore that has most.
func Permits(k, most int) string { return fmt.Sprintf("permits:%d/%d", k, most) }

// SessionConfig describes the session that a command opens.
type SessionConfig struct {
	// Servers are host:port, in the order in which the command should try them.
	Servers []string
	// Timeout is the session timeout to ask for.
	Timeout time.Duration
	// Paths are the paths of all locks that may be acquired.
	Paths []string
	// OnState, if set, is told of every state the session enters, in order. The
	// command's next answer waits for it.
	OnState func(zksession.StateChange)

	_ struct{} // no positional literals
}

// A Session is a session of a command. It is never renewed.
type Session struct {
	p      *process
	shared bool // p has other sessions too
	cfg    SessionConfig
	id     int64 // of its open; from process.call on
	// life ends with the session. Its cause wraps recipes.ErrLockLost.
	life context.Context
	stop context.CancelCauseFunc

	// Guarded by p.mu.
	open     bool // the open was answered
	err      error
	serverID int64
	timeout  time.Duration
	server   string
}

// open opens a session on p.
func open(ctx context.Context, p *process, shared bool, cfg SessionConfig) (*Session, error) {
	s := &Session{p: p, shared: shared, cfg: cfg}
	s.life, s.stop = context.WithCancelCause(context.Background())
	c, err := p.call(s, opening)
	if err != nil {
		return nil, err
	}
	err = p.send(
		"open %d %s %d %s",
		c.id,
		strings.Join(cfg.Servers, ","),
		cfg.Timeout.Milliseconds(),
		strings.Join(cfg.Paths, ","),
	)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-c.answers:
		if a.verb == failed {
			return nil, fmt.Errorf("open a session: %w", reason(a))
		}
		return s, nil
	case <-p.done:
		return nil, p.failure()
	case <-ctx.Done():
		if shared { // or the command ends anyway
			_, _ = s.beginClose()
		}
		return nil, fmt.Errorf("open a session: no answer: %w", ended(ctx))
	}
}

func (s *Session) report(c zksession.StateChange) {
	if s.cfg.OnState != nil {
		s.cfg.OnState(c)
	}
}

// end ends everything that belongs to the session. The first reason stays.
func (s *Session) end(reason error) {
	s.p.mu.Lock()
	if s.err == nil {
		s.err = reason
	}
	reason = s.err
	s.p.mu.Unlock()
	s.stop(fmt.Errorf("%w: %w", recipes.ErrLockLost, reason))
}

// Done returns a channel that is closed when the session is over for good.
func (s *Session) Done() <-chan struct{} { return s.life.Done() }

// Err returns nil while the session lives, then why it ended: an error that wraps
// zksession.ErrSessionExpired, zksession.ErrSessionClosed or [ErrBroken].
func (s *Session) Err() error {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.err
}

// Close ends the session, its holds first, and the command too if it has no other
// sessions. An error says that the command did not confirm it.
func (s *Session) Close(ctx context.Context) error {
	s.end(zksession.ErrSessionClosed)
	err := s.close(ctx)
	if !s.shared {
		s.p.end()
	}
	return err
}

// beginClose asks for the end of the session, unless it is over.
func (s *Session) beginClose() (*call, error) {
	s.p.mu.Lock()
	_, open := s.p.sessions[s.id]
	delete(s.p.sessions, s.id)
	s.p.forget(s)
	s.p.mu.Unlock()
	if !open {
		return nil, nil // expired, closed, or the command is not there
	}
	c, err := s.p.call(s, closing)
	if err != nil {
		return nil, err
	}
	return c, s.p.send("close %d", s.id)
}

func (s *Session) close(ctx context.Context) error {
	c, err := s.beginClose()
	if c == nil || err != nil {
		return err
	}
	select {
	case <-c.answers:
		return nil
	case <-s.p.done:
		return s.p.failure()
	case <-ctx.Done():
		return fmt.Errorf("close the session: no answer: %w", ended(ctx))
	}
}

// A LockConfig describes what to acquire.
type LockConfig struct {
	// Paths is the lock's path, or those of several locks to be held together.
	Paths []string
	// Mode is one of the modes; empty = Exclusive.
	Mode string
	// OnQueued, if set, is told by Acquire of its place in the queue.
	OnQueued func(ahead int)
	// Try makes Acquire return [recipes.ErrNotAcquired] where it would have to wait. A command that has not answered
	// after a second is cancelled.
	Try bool

	_ struct{} // no positional literals
}

// Lock returns a lock. It sends no request.
func (s *Session) Lock(cfg LockConfig) recipes.Lock {
	if cfg.Mode == "" {
		cfg.Mode = Exclusive
	}
	return &lock{s, cfg}
}

type lock struct {
	s   *Session
	cfg LockConfig
}

// Acquire implements [recipes.Lock]. If the command grants the lock although ctx
// has ended meanwhile, it is held.
func (l *lock) Acquire(ctx context.Context) (*recipes.Hold, error) {
	h, err := l.acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("acquire %s: %w", strings.Join(l.cfg.Paths, ", "), err)
	}
	return h, nil
}

func (l *lock) acquire(ctx context.Context) (*recipes.Hold, error) {
	cfg := l.cfg
	return l.s.grant(ctx, cfg, func(id int64) string {
		wait := "0"
		if !cfg.Try {
			wait = waitFor(ctx)
		}
		return fmt.Sprintf("acquire %d %d %s %s %s", id, l.s.id, strings.Join(cfg.Paths, ","), cfg.Mode, wait)
	})
}

// Downgrade returns a read hold beside a write hold of this session, which stays: see
// the protocol. Its errors are those of [recipes.Lock], and the end of the write hold.
func (s *Session) Downgrade(ctx context.Context, write *recipes.Hold) (*recipes.Hold, error) {
	if write.Context().Err() != nil {
		return nil, fmt.Errorf("downgrade: %w", context.Cause(write.Context()))
	}
	ofOne := LockConfig{Paths: make([]string, 1)}
	h, err := s.grant(ctx, ofOne, func(id int64) string { return fmt.Sprintf("downgrade %d %d", id, GrantOf(write).id) })
	if err != nil {
		return nil, fmt.Errorf("downgrade: %w", err)
	}
	return h, nil
}

// grant requests a hold under an id, and waits for the outcome.
func (s *Session) grant(ctx context.Context, cfg LockConfig, request func(id int64) string) (*recipes.Hold, error) {
	p := s.p
	if ctx.Err() != nil {
		return nil, ended(ctx)
	}
	if err := s.Err(); err != nil {
		return nil, err
	}
	c, err := p.call(s, acquiring)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	c.paths = len(cfg.Paths)
	p.mu.Unlock()
	if err := p.send("%s", request(c.id)); err != nil {
		return nil, err
	}
	cancelled := ctx.Done()
	var overdue, unanswered <-chan struct{}
	answered := make(chan struct{})
	defer close(answered)
	if cfg.Try {
		overdue = p.after(answered, 1)
	}
	behind, interrupted := false, false
	for {
		select {
		case a := <-c.answers:
			switch a.verb {
			case queued:
				behind = a.ahead > 0
				if cfg.OnQueued != nil {
					cfg.OnQueued(a.ahead)
				}
				continue
			case granted:
				return c.hold, nil
			case timedOut:
				if cfg.Try && ctx.Err() == nil && (behind || !interrupted) {
					return nil, recipes.ErrNotAcquired
				}
				return nil, givenUp(ctx)
			}
			if ctx.Err() != nil {
				return nil, fmt.Errorf("%w: %w", ended(ctx), reason(a))
			}
			return nil, reason(a)
		case <-cancelled:
			cancelled = nil
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				// The command has known this deadline since the request, and is about to answer. An interruption at
				// that moment would harm some commands.
				overdue = p.after(answered, 1)
				continue
			}
			cancel := make(chan struct{})
			close(cancel)
			overdue = cancel
		case <-overdue:
			overdue, unanswered, interrupted = nil, p.after(answered, answerTicks), true
			if err := p.send("cancel %d", c.id); err != nil {
				return nil, err
			}
		case <-unanswered:
			p.fail(p.broken(fmt.Errorf("it has not answered the cancel of acquire %d within %d s", c.id, answerTicks)))
			return nil, p.failure()
		case <-s.Done():
			return nil, s.Err()
		}
	}
}

// waitFor is how long an acquire may wait, as in the protocol: rounded up, so that
// the command is not the first to give up.
func waitFor(ctx context.Context) string {
	deadline, ok := ctx.Deadline()
	if !ok {
		return "-"
	}
	return fmt.Sprint(max(0, time.Until(deadline)+time.Millisecond-1).Milliseconds())
}

// givenUp returns the error of an acquire whose time was over, possibly by the command's clock.
func givenUp(ctx context.Context) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	return fmt.Errorf("the lock's command says timeout: %w", context.DeadlineExceeded)
}

// release releases a hold. The hold has already ended on our side.
func (p *process) release(ctx context.Context, c *call) error {
	p.mu.Lock()
	if p.calls[c.id] != c {
		p.mu.Unlock()
		return fmt.Errorf("%w: the lock's command said so meanwhile", recipes.ErrLockLost)
	}
	c.stage = releasing
	p.mu.Unlock()
	if err := p.send("release %d", c.id); err != nil {
		return err
	}
	select {
	case a := <-c.answers:
		switch a.verb {
		case lost:
			return fmt.Errorf("%w: %w", recipes.ErrLockLost, reason(a))
		case failed:
			return fmt.Errorf("unconfirmed: %w", reason(a))
		}
		return nil
	case <-c.session.Done():
		return context.Cause(c.session.life)
	case <-ctx.Done():
		return fmt.Errorf("unconfirmed: %w", ended(ctx))
	}
}

// ended returns why ctx ended, in a way that is both its standard error and its cause.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
