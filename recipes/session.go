package recipes

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"
)

// SessionConfig says how to connect.
type SessionConfig struct {
	// Servers are host:port (port 2181 if absent), tried in this order and round
	// again: a caller spreads or pins its sessions by what it lists first. Names
	// are resolved at each dial.
	Servers []string
	// Timeout is the session timeout to ask for; the server grants what lies
	// within its own limits. 0 = 10 s.
	Timeout time.Duration
	// Dial makes connections; nil = a plain net.Dialer. It should respect its
	// context, which ends with the session.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// OnState, if set, is told of every state the session enters, in order, from
	// one goroutine. It may block without harming the session, but must not wait
	// for Close, which waits for it.
	OnState func(StateChange)
	// LeaseClock, if set, ends the session's holds before the service can have expired it, also while
	// the client cannot know. See the package's section on the lease clock.
	LeaseClock *LeaseClockConfig
	// Logger gets the client's chatter at debug level; nil = nobody does.
	Logger *slog.Logger

	_ struct{} // no positional literals
}

// A Session is a ZooKeeper session with what recipes share on it: watches and the
// removal of leftovers. It is never renewed: once it has expired a client that goes
// on needs a new Session and new locks. Its methods may be called from any goroutine.
type Session struct {
	zk ZooKeeper
	// life ends with the session, at the latest; its cause wraps ErrLockLost.
	// Holds descend from it, so that one call ends them all before the service is
	// told to close.
	life    context.Context
	end     context.CancelCauseFunc
	hub     *hub
	janitor *janitor
	tasks   tasks
	clock   *leaseClock // nil if there is none
}

// Connect returns once a session is established, or an error that wraps that of
// ctx: while no server answers it goes on trying. The error wraps ErrTimeoutTooShort if the
// server granted a session timeout too short for the lease clock.
func Connect(ctx context.Context, cfg SessionConfig) (*Session, error) {
	if len(cfg.Servers) == 0 {
		return nil, errors.New("connect: no servers given")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.Timeout < time.Millisecond {
		return nil, fmt.Errorf("connect: session timeout %s is less than 1ms", cfg.Timeout)
	}
	if cfg.LeaseClock != nil {
		if _, err := cfg.LeaseClock.withDefaults(); err != nil {
			return nil, fmt.Errorf("connect: %w", err)
		}
	}
	c, err := connect(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to %v: %w", cfg.Servers, err)
	}
	s := NewSession(c, cfg.Logger)
	if cfg.LeaseClock != nil {
		if err := s.startLeaseClock(*cfg.LeaseClock); err != nil {
			return nil, errors.Join(fmt.Errorf("connect to %v: %w", cfg.Servers, err), s.Close(ctx))
		}
	}
	return s, nil
}

// NewSession returns a session on something other than a real server. It takes
// over zk, which the session's Close closes. A nil logger discards.
func NewSession(zk ZooKeeper, log *slog.Logger) *Session {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Session{zk: zk}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.hub = newHub(zk, &s.tasks)
	s.janitor = &janitor{zk: zk, tasks: &s.tasks, log: log}
	s.tasks.start(func() {
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

// Err returns nil while the session lives, then ErrSessionExpired or ErrSessionClosed.
func (s *Session) Err() error { return s.zk.Err() }

// Close ends the session: its holds first, then at the server, where its znodes go
// with it, and waits for all goroutines that served it. It returns an error wrapping
// ErrConnectionLoss if no server could be told, so that the session lives there until it
// expires, and one wrapping that of ctx if ctx ended first. Closing what is over
// does no harm. A session that expired needs no Close to free its resources.
func (s *Session) Close(ctx context.Context) error {
	s.end(lost(ErrSessionClosed))
	err := s.zk.Close(ctx)
	if err == nil || errors.Is(err, ErrConnectionLoss) {
		s.tasks.wait() // every task ends with the session
	}
	return err
}
