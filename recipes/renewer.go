package recipes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zksession"
)

// RenewerConfig describes a [Renewer].
type RenewerConfig struct {
	// SessionConfig is the configuration of each of the sessions. Its OnState is told of the states of all of them.
	SessionConfig
	// Connect, if set, makes the sessions instead of [Connect].
	Connect func(ctx context.Context) (*Session, error)
	// OnChange, if set, is called with each change, in order, from one goroutine. The Renewer waits for it, so it must
	// not call Close.
	OnChange func(Renewal)

	_ struct{} // no positional literals
}

// A Renewal is a change of a Renewer's session.
type Renewal struct {
	// Session is the session that has begun or has ended; nil if none could be made.
	Session *Session
	// Err is nil if the session has begun. Otherwise it says why the session has ended, or why none could be made.
	Err error
	// Pause is how long the Renewer waits before it tries again, if none could be made.
	Pause time.Duration
}

// A Renewer has a session at all times, as far as the service lets it: when one has expired, it opens another one. Its
// methods may be called from any goroutine.
//
// The holds of a session that has ended stay lost, and nothing is ever executed under its successor. Locks belong to
// their session. A program that uses a Renewer therefore makes new locks in each session, or lets [Renewer.Lock] make
// them.
type Renewer struct {
	cfg     RenewerConfig
	connect func(context.Context) (*Session, error)
	tasks   tasks.Set
	life    context.Context
	end     context.CancelFunc

	mu      sync.Mutex
	session *Session      // the latest, which may be over; nil while there is none
	changed chan struct{} // closed as session changes
	failure error         // of the latest attempt to make one, if it failed
}

// The pause before a session is made again grows from renewMin to renewMax, while none can be made or those that are
// made end before their timeout has passed.
const (
	renewMin = 100 * time.Millisecond
	renewMax = 10 * time.Second
	// renewAttempt is the least time for an attempt to make a session. One that takes longer is reported as a failure,
	// and another one begins.
	renewAttempt = 10 * time.Second
)

// NewRenewer returns once the first session is established, or the error of [Connect]. Like that, it logs a warning if
// it has to wait for long.
func NewRenewer(ctx context.Context, cfg RenewerConfig) (*Renewer, error) {
	r := &Renewer{cfg: cfg, connect: cfg.Connect, changed: make(chan struct{})}
	if r.connect == nil {
		r.connect = func(ctx context.Context) (*Session, error) { return Connect(ctx, cfg.SessionConfig) }
	}
	first, err := r.connect(ctx)
	if err != nil {
		return nil, err
	}
	r.life, r.end = context.WithCancel(context.Background())
	r.begin(first)
	r.tasks.Start(func() { r.renew(first) })
	return r, nil
}

// Session returns the present session. While there is none, it waits for the next one. It returns an error wrapping
// ErrSessionClosed after Close, and one wrapping that of ctx and the last failure to connect if ctx ends first.
func (r *Renewer) Session(ctx context.Context) (*Session, error) {
	for {
		r.mu.Lock()
		s, changed, failure := r.session, r.changed, r.failure
		r.mu.Unlock()
		switch {
		case r.life.Err() != nil:
			return nil, fmt.Errorf("no session: %w", zksession.ErrSessionClosed)
		case s != nil && s.Err() == nil:
			return s, nil
		case ctx.Err() != nil && failure != nil:
			return nil, fmt.Errorf("no session: %w; the last attempt to make one: %w", tasks.Ended(ctx), failure)
		case ctx.Err() != nil:
			return nil, fmt.Errorf("no session: %w", tasks.Ended(ctx))
		}
		select {
		case <-changed:
		case <-r.life.Done():
		case <-ctx.Done():
		}
	}
}

// Close closes the present session as [Session.Close] does, and waits for all goroutines of the Renewer and of its
// sessions, also for a second if ctx has ended. There is no session after that.
func (r *Renewer) Close(ctx context.Context) error {
	r.mu.Lock()
	r.end()
	s := r.session
	r.mu.Unlock()
	ctx, stop := tasks.Grace(ctx, releaseGrace)
	defer stop()
	var err error
	if s != nil {
		err = s.Close(ctx)
	}
	over := make(chan struct{})
	go func() { // ends soon, since no task waits for a server any more
		r.tasks.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done():
		err = cmp.Or(err, fmt.Errorf("close: %w", tasks.Ended(ctx)))
	}
	return err
}

// renew replaces each session that has ended, until Close.
func (r *Renewer) renew(s *Session) {
	pause := time.Duration(0)
	for {
		begun := time.Now()
		r.tell(Renewal{Session: s})
		<-s.Done() // Close ends it too
		if r.life.Err() != nil {
			return
		}
		over := s
		r.tasks.Start(func() { _ = over.Close(context.Background()) }) // waits for what served it
		r.tell(Renewal{Session: over, Err: over.Err()})
		if time.Since(begun) >= s.Timeout() {
			pause = 0
		} else if pause = longer(pause); !r.sleep(pause) {
			return
		}
		for {
			var err error
			if s, err = r.attempt(); err == nil && r.begin(s) {
				break
			}
			if r.life.Err() != nil {
				return
			}
			pause = longer(pause)
			r.mu.Lock()
			r.failure = err
			r.mu.Unlock()
			r.tell(Renewal{Err: err, Pause: pause})
			if !r.sleep(pause) {
				return
			}
		}
	}
}

// attempt makes a session, within bounds.
func (r *Renewer) attempt() (*Session, error) {
	ctx, cancel := context.WithTimeout(r.life, max(renewAttempt, r.cfg.Timeout))
	defer cancel()
	r.mu.Lock()
	failing := r.failure != nil
	r.mu.Unlock()
	if failing { // an attempt before this one has logged it
		ctx = tasks.Tell(ctx)
	}
	return r.connect(ctx)
}

// begin makes s the present session. It returns false, and closes s, if the Renewer was closed meanwhile.
func (r *Renewer) begin(s *Session) bool {
	r.mu.Lock()
	over := r.life.Err() != nil
	if !over {
		r.session, r.failure = s, nil
		close(r.changed)
		r.changed = make(chan struct{})
	}
	r.mu.Unlock()
	if over {
		_ = s.Close(r.life) // no caller is left to be told that a server could not be
	}
	return !over
}

func (r *Renewer) tell(c Renewal) {
	if r.cfg.OnChange != nil {
		r.cfg.OnChange(c)
	}
}

// longer returns a pause that is longer than the last one, up to a limit.
func longer(pause time.Duration) time.Duration { return min(max(2*pause, renewMin), renewMax) }

// sleep waits for a time between half of the pause and all of it, so that clients which lost their sessions together do
// not all come back together. It returns false if the Renewer was closed.
func (r *Renewer) sleep(pause time.Duration) bool {
	select {
	case <-time.After(pause/2 + rand.N(pause/2)):
		return true
	case <-r.life.Done():
		return false
	}
}

// Lock returns a lock that is acquired in whatever session is the present one. open makes the lock in a session; it is
// called when the lock is first acquired in that session. An acquire that waits while its session ends goes on in the
// next session, at the end of the queue; it ends with ctx, or when the Renewer is closed. A hold ends with its own
// session, and is never renewed.
func (r *Renewer) Lock(open func(*Session) (Lock, error)) TryLock {
	return &renewedLock{of: r, locks: made[Lock]{open: open}}
}

// PerSession returns a function that returns what open makes in the present session of r, waiting for that session as
// [Renewer.Session] does. open is called once in each session in which the function is called. It is for what
// [Renewer.Lock] does not reach, such as [RW.Downgrade], [Mutex.Participants] and a [Multi]. The function's result
// is of no use any more once its session is over.
func PerSession[T any](r *Renewer, open func(*Session) (T, error)) func(ctx context.Context) (T, error) {
	in := made[T]{open: open}
	return func(ctx context.Context) (T, error) {
		s, err := r.Session(ctx)
		if err != nil {
			var none T
			return none, err
		}
		return in.at(s)
	}
}

// A made is what was made in a session, remembered until there is another one.
type made[T any] struct {
	open func(*Session) (T, error)

	mu sync.Mutex
	in *Session // the session of it
	it T
}

func (m *made[T]) at(s *Session) (T, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.in == s {
		return m.it, nil
	}
	it, err := m.open(s)
	if err == nil {
		m.in, m.it = s, it
	}
	return it, err
}

// A renewedLock is a lock in the present session of a Renewer.
type renewedLock struct {
	of    *Renewer
	locks made[Lock]
}

// Acquire implements [Lock].
func (l *renewedLock) Acquire(ctx context.Context) (*Hold, error) {
	return l.acquire(ctx, func(in Lock) (*Hold, error) { return in.Acquire(ctx) })
}

// TryAcquire implements [TryLock]. It returns [errors.ErrUnsupported] if the lock cannot be tried.
func (l *renewedLock) TryAcquire(ctx context.Context) (*Hold, error) {
	return l.acquire(ctx, func(in Lock) (*Hold, error) {
		try, ok := in.(TryLock)
		if !ok {
			return nil, fmt.Errorf("try to acquire: %w", errors.ErrUnsupported)
		}
		return try.TryAcquire(ctx)
	})
}

func (l *renewedLock) acquire(ctx context.Context, acquire func(Lock) (*Hold, error)) (*Hold, error) {
	for {
		s, err := l.of.Session(ctx)
		if err != nil {
			return nil, fmt.Errorf("acquire: %w", err)
		}
		lock, err := l.locks.at(s)
		if err != nil {
			return nil, err
		}
		h, err := acquire(lock)
		if err == nil || s.Err() == nil || ctx.Err() != nil {
			return h, err
		}
	}
}
