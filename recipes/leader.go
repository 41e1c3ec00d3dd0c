package recipes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// LeaderConfig describes a [Leader].
type LeaderConfig struct {
	// Renewer or Session gives the session; exactly one of them is set. With a Renewer, campaigns and observers go on in
	// the next session when one has expired. A Session's end is theirs.
	Renewer *Renewer
	Session *Session
	// Path is the election's directory, whose children are the queue of the candidates. It is created if it does not
	// exist.
	Path string
	// ID is what the others see of this candidate while it leads, such as the address at which it serves. A Leader that
	// only observes needs none. A candidate without an ID leads as any other, but the others see an empty
	// [LeaderInfo].ID, and cannot tell by it who leads.
	ID string
	// Latch makes the candidates' znodes those of Curator's LeaderLatch. They are LeaderSelector's otherwise, which are
	// also those of a [Mutex]. All candidates of an election must have the same.
	Latch bool
	// OnQueued is as that of [MutexConfig].
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// A Leader is one process's part in an election, by which at most one of several processes leads at a time. A term, in
// which it leads, is a [Hold] of the queue that a [Mutex] has, with all that is said of those; in particular, what a
// leader does must carry the term's token, because a leader that was stopped or cut off can believe for longer than its
// term lasts. Its methods may be called from any goroutine.
//
// The terms of other libraries, and what they are here:
//
//	etcd's Election       Campaign, Resign and Observe are called the same; Leader is Current; Rev is Hold.Token
//	client-go             RunOrDie is Run, which always releases on cancel; OnStartedLeading is the function that it
//	                      is given, and OnStoppedLeading what that one defers; OnNewLeader is Observe
//	Curator's Selector    takeLeadership is the function given to Run; interruptLeadership is Resign
//	Curator's Latch       start and await are Campaign; close is Resign; hasLeadership is Hold.Valid; getLeader and
//	                      getParticipants are Current and Participants
type Leader struct {
	cfg  LeaderConfig
	lock TryLock

	mu    sync.Mutex
	terms map[*Hold]bool // those that have not ended
}

// NewLeader checks the configuration. It asks the service nothing.
func NewLeader(cfg LeaderConfig) (*Leader, error) {
	if (cfg.Session == nil) == (cfg.Renewer == nil) {
		return nil, errors.New("leader: give either a session or a renewer")
	}
	if err := checkPath(cfg.Path); err != nil {
		return nil, fmt.Errorf("leader: %w", err)
	}
	if _, err := ownData("leader", []byte(cfg.ID)); err != nil {
		return nil, err
	}
	l := &Leader{cfg: cfg, terms: map[*Hold]bool{}}
	if cfg.Renewer != nil {
		l.lock = cfg.Renewer.Lock(func(s *Session) (Lock, error) { return l.line(s), nil })
	} else {
		l.lock = l.line(cfg.Session)
	}
	return l, nil
}

// leaderName is the name that a session's observer hears.
const leaderName = "leader"

func (l *Leader) line(s *Session) *line {
	return &line{
		s:        s,
		recipe:   leaderName,
		dir:      l.cfg.Path,
		data:     []byte(l.cfg.ID),
		onQueued: s.queued(leaderName, l.cfg.Path, l.cfg.OnQueued),
		layout:   l.layout(),
		blocks:   everybody,
		alone:    true,
		succeeds: !l.cfg.Latch, // Curator's latches wait for a deletion, and hear of no other event
	}
}

func (l *Leader) where() site { return site{l.cfg.Session, l.cfg.Path} }

func (l *Leader) layout() layout {
	if l.cfg.Latch {
		return latchLayout
	}
	return mutexLayout
}

func (l *Leader) session(ctx context.Context) (*Session, error) {
	if l.cfg.Renewer != nil {
		return l.cfg.Renewer.Session(ctx)
	}
	return l.cfg.Session, l.cfg.Session.Err()
}

// Campaign waits until this candidate leads, and returns its term, or an error as [Lock].Acquire does. The term lasts
// until it is released or lost, which its context tells; a lost term has to be released as well. Each call is a
// candidate of its own, so that a campaign of the one that leads waits for its own term to end.
func (l *Leader) Campaign(ctx context.Context) (*Hold, error) { return l.term(l.lock.Acquire(ctx)) }

// Acquire is Campaign. It makes a Leader a [Lock], for [Do] and [NewMulti].
func (l *Leader) Acquire(ctx context.Context) (*Hold, error) { return l.Campaign(ctx) }

// TryAcquire implements [TryLock]: it leads if there is no other candidate.
func (l *Leader) TryAcquire(ctx context.Context) (*Hold, error) {
	return l.term(l.lock.TryAcquire(ctx))
}

// term takes note of a term that has begun.
func (l *Leader) term(h *Hold, err error) (*Hold, error) {
	if err != nil {
		return nil, fmt.Errorf("campaign: %w", err)
	}
	h.reentrant = false // or Resign might undo an entry instead of ending the term
	l.mu.Lock()
	l.terms[h] = true
	l.mu.Unlock()
	forget := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.terms, h)
	}
	release := h.release
	h.release = func(ctx context.Context) error {
		forget()
		return release(ctx)
	}
	context.AfterFunc(h.Context(), func() {
		if !errors.Is(context.Cause(h.Context()), ErrLeaseExpired) { // that term keeps the next waiting until it is released
			forget()
		}
	})
	return h, nil
}

// Resign ends this Leader's term, as [Hold.Release] does, so that the next candidate leads. It also releases a term
// that this client's own clock has ended. It does nothing if this Leader does not lead, and does not end campaigns.
func (l *Leader) Resign(ctx context.Context) error {
	l.mu.Lock()
	terms := slices.Collect(maps.Keys(l.terms))
	l.mu.Unlock()
	var errs []error
	for _, h := range terms {
		if err := h.Release(ctx); err != nil && !errors.Is(err, ErrReleased) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Run campaigns, and calls lead when this candidate leads. lead gets a context that ends with ctx and with the term.
//
// When lead returns although its term lasts, Run resigns and returns lead's error, which may be nil. When the term was
// lost or Resign was called, Run waits until lead returns and then campaigns again, whatever lead returned. So one Run
// never has two leads at work. When ctx has ended, Run returns an error that wraps that of ctx, after lead has returned
// and the term was released. It also returns when a campaign fails, which without a [Renewer] it does when the session
// is over. A process whose lead cannot be stopped should end when the context of lead does.
func (l *Leader) Run(ctx context.Context, lead func(ctx context.Context, term *Hold) error) error {
	for {
		over := false // the term, before lead returned
		err := Do(ctx, l, func(ctx context.Context, term *Hold) error {
			err := lead(ctx, term)
			over = term.Context().Err() != nil
			return err
		})
		switch {
		case ctx.Err() != nil && errors.Is(err, ctx.Err()):
			return err
		case ctx.Err() != nil:
			return errors.Join(context.Cause(ctx), err)
		case !over:
			return err
		}
	}
}
