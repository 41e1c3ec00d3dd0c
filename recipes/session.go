package recipes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/observe"
	"locklab/recipes/zksession"
)

// SessionConfig says how to connect.
type SessionConfig struct {
	zksession.Config
	// LeaseClock, if set, ends the session's holds before the service can have expired it, also while the client cannot
	// know. See SPEC.md, section Lease clock.
	LeaseClock *LeaseClockConfig
	// HoldsEnd says when the session's holds end although the service has not said so: by default, when the service has
	// been silent for the session timeout. It bounds what the client believes; only a lease clock, which is stricter,
	// bounds it by what the service may have done. With a lease clock, it makes no difference.
	HoldsEnd HoldsEnd
	// Observe, if set, is called with what happens to the session and its locks. SPEC.md's section on session
	// observers says in which order, and what the function may do.
	Observe func(observe.Event)

	_ struct{} // no positional literals
}

// A Session is a ZooKeeper session with what recipes share on it: watches and the
// removal of leftovers. It is never renewed: once it has expired a client that goes
// on needs a new Session and new locks. Its methods may be called from any goroutine.
type Session struct {
	zk zksession.ZooKeeper
	// life ends with the session, at the latest; its cause wraps ErrLockLost.
	// Holds descend from it, so that one call ends them all before the service is
	// told to close.
	life    context.Context
	end     context.CancelCauseFunc
	hub     *hub
	janitor *janitor
	tasks   tasks.Set
	terms   *terms      // nil if only the service ends holds
	clock   *leaseClock // nil if there is none
	observe func(observe.Event)
	timers  timers
	guid    func() string
	// unwatched is when znodes of ours are watched.
	unwatched unwatched
	// servers and chroot are those that the session was connected with; empty if that is not known.
	servers []string
	chroot  string
}

// Connect returns once a session is established, or an error that wraps that of ctx and the last failure of each
// server: while no server answers, it keeps trying, and logs a warning when the session timeout has passed. The error
// wraps [zksession.ErrAuthFailed] if one refuses a credential, and ErrTimeoutTooShort if the server granted a session
// timeout too short for the lease clock.
func Connect(ctx context.Context, cfg SessionConfig) (*Session, error) {
	if cfg.LeaseClock != nil {
		if _, err := cfg.LeaseClock.withDefaults(); err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
	}
	if err := cfg.HoldsEnd.check(); err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if cfg.Observe != nil {
		cfg.OnState = observeStates(cfg.Observe, cfg.OnState)
	}
	service, err := zksession.Connect(ctx, cfg.Config)
	if err != nil {
		return nil, err
	}
	s := newSession(service, cmp.Or(cfg.Logger, slog.Default()), cfg.HoldsEnd, cfg.AfterFunc)
	if cfg.GUID != nil {
		s.guid = cfg.GUID
	}
	s.observe, s.servers, s.chroot = cfg.Observe, zk.FormatServers(cfg.Servers), cfg.Chroot
	if cfg.LeaseClock != nil {
		if err := s.startLeaseClock(*cfg.LeaseClock); err != nil {
			return nil, errors.Join(fmt.Errorf("connect to %s: %w", strings.Join(cfg.Servers, ", "), err), s.Close(ctx))
		}
	}
	return s, nil
}

// NewSession returns a session on something other than a real server. It takes
// over zk, which the session's Close closes. A nil logger discards.
func NewSession(zk zksession.ZooKeeper, log *slog.Logger) *Session {
	return newSession(zk, log, AfterTimeout, nil)
}

func newSession(zk zksession.ZooKeeper, log *slog.Logger, end HoldsEnd, timers timers) *Session {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Session{zk: zk, timers: timers, guid: uuid.NewString,
		unwatched: unwatched{held: heldUnwatched, queued: queuedUnwatched}}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.hub = newHub(zk, &s.tasks)
	s.janitor = &janitor{zk: zk, tasks: &s.tasks, log: log, timers: timers}
	if end != WhenTold {
		s.terms = newTerms(s.life, timers)
		s.terms.zk, s.terms.asks = zk, true
		context.AfterFunc(s.life, s.terms.stop)
	}
	s.tasks.Start(func() {
		<-zk.Done()
		s.end(lost(zk.Err()))
	})
	return s
}

// ID returns the session's id.
func (s *Session) ID() int64 { return s.zk.ID() }

// Timeout returns the session timeout that the server granted.
func (s *Session) Timeout() time.Duration { return s.zk.Timeout() }

// Done returns a channel that is closed when the session is over for good.
func (s *Session) Done() <-chan struct{} { return s.zk.Done() }

// Err returns nil while the session lives, then why it is over: an error that wraps ErrSessionExpired,
// ErrSessionClosed or [zksession.ErrAuthFailed].
func (s *Session) Err() error { return s.zk.Err() }

// Close ends the session: first its holds, then the session at the server, which removes its znodes, and waits for
// all goroutines that served it. It returns an error wrapping ErrConnectionLoss if no server could be told, so that
// the session lives there until it expires, and one wrapping that of ctx if ctx ended first; but it gives the service a
// second even if ctx has ended, so that a program that is told to end frees its locks. A session that is disconnected
// has that second to be connected again. A session that is over can be closed again, and one that expired needs no
// Close to free its resources.
func (s *Session) Close(ctx context.Context) error {
	s.end(lost(cmp.Or(s.zk.Err(), zksession.ErrSessionClosed))) // it may have expired just now
	err := s.zk.Close(ctx)
	if err == nil || errors.Is(err, zksession.ErrConnectionLoss) {
		s.tasks.Wait() // every task ends with the session
	}
	return err
}

// A hold that was lost keeps its znode until it is released, and with it everybody who waits for the lock: see
// [Hold.Release]. A program that forgets that is hard to see from outside, because its session is well. So the session
// logs a warning, once for each such hold, when the session timeout has passed since the loss. By then the work has had
// the time that it would have had if the session had expired. A session that has ended keeps nobody waiting.

// warnUnreleased makes the session warn of the hold, unless it is released before the hold is lost, or soon after.
func (s *Session) warnUnreleased(h *Hold) {
	h.unwarn = context.AfterFunc(h.ctx, func() {
		cause := context.Cause(h.ctx)
		if errors.Is(cause, ErrReleased) {
			return
		}
		s.tasks.Start(func() {
			late, due := s.timers.channel(s.Timeout())
			defer late.Stop()
			select {
			case <-due:
			case <-s.Done():
				return
			}
			if !h.entries.undone() {
				s.janitor.log.Warn("a hold was lost and has not been released: other clients may wait for it until Release",
					"znode", h.path, "lost_for", s.Timeout(), "cause", cause)
			}
		})
	})
}

// timers starts a session's timers; nil stands for those of package time. A simulation has others, which stand still
// while the simulated process is paused. The time itself needs no such seam: a process that stands still does not ask.
type timers func(d time.Duration, f func()) zksession.Timer

// start is [time.AfterFunc].
func (t timers) start(d time.Duration, f func()) zksession.Timer {
	if t == nil {
		return time.AfterFunc(d, f)
	}
	return t(d, f)
}

// channel returns a timer and a channel that receives, like that of [time.NewTimer], when the timer is due.
func (t timers) channel(d time.Duration) (zksession.Timer, <-chan struct{}) {
	due := make(chan struct{}, 1)
	return t.start(d, func() {
		select {
		case due <- struct{}{}:
		default: // it was due before, and nobody has looked
		}
	}), due
}

// after is [time.After].
func (t timers) after(d time.Duration) <-chan struct{} {
	_, due := t.channel(d)
	return due
}
