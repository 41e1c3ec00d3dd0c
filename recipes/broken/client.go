package broken

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
	"locklab/recipes/zksession"
)

// Connect returns a plain client, as most published locks are built on, once there is a session or ctx ends. The
// client makes a new session when one has expired, and sends there what it has queued. Its requests wait while no
// server can be reached.
func Connect(ctx context.Context, cfg zksession.Config) (*zksession.Plain, error) {
	lost := func(err error) error { return fmt.Errorf("%w: %w", recipes.ErrLockLost, err) }
	return zksession.ConnectPlain(ctx, zksession.PlainConfig{Config: cfg, Lost: lost, KeepRequests: true})
}

// A session is one of the sessions that a client has one after another.
type session = zksession.PlainSession

// A client repeats requests until they are answered.
type client struct{ *zksession.Plain }

// answered reports whether err is nil or a server's answer. go-zookeeper has no values for some answers, only text.
func answered(err error) bool {
	return err == nil || slices.Contains([]error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty,
		zk.ErrNoAuth, zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments}, err) ||
		strings.HasPrefix(err.Error(), "unknown error")
}

// repeat repeats a request until it is answered, in whichever session.
func (c client) repeat(request func() error) error {
	for {
		err := request()
		if answered(err) {
			return err
		}
		if over := c.Err(); over != nil {
			return over
		}
	}
}

// Config describes a lock of this package.
type Config struct {
	Client *zksession.Plain // from [Connect]
	// Path is the lock's directory, or its one znode. It is created if it does not exist.
	Path string
	// Permits is how many permits a semaphore has, and Units how many of them a hold takes.
	Permits, Units int
	// OnQueued, if set, is called once an attempt has its place in a queue, before it waits,
	// with the number of contenders ahead.
	OnQueued func(ahead int)

	_ struct{} // no positional literals
}

// Ways are the ways to hold a lock. Those that a lock does not have are nil.
type Ways struct {
	// Write's holds exclude all others, and Read's holds exclude Write's.
	Write, Read recipes.Lock
	// Permits's holds are a number of units of a semaphore.
	Permits recipes.Lock
	// Downgrade turns a hold of Write into one of Read.
	Downgrade func(ctx context.Context, write *recipes.Hold) (*recipes.Hold, error)
}

// acquirer is a function that is a [recipes.Lock].
type acquirer func(ctx context.Context) (*recipes.Hold, error)

func (f acquirer) Acquire(ctx context.Context) (*recipes.Hold, error) { return f(ctx) }

// Locks that leave a znode behind when the reply to its create is lost. It belongs to a session that lives, so it is
// never removed, and every other client waits behind it.

// lostCreate creates again when it has no answer.
func lostCreate(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.settle = func(*attempt) (string, error) { return "", nil }
	return Ways{Write: q}
}

// unsyncedSearch looks for its znode first, but on a server that may lag behind.
func unsyncedSearch(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.settle = func(a *attempt) (string, error) { return a.search(false) }
	return Ways{Write: q}
}

// These locks wait for ever, or make others wait for ever.

// lostWakeup watches by a check of existence, and ignores what the check says: if the predecessor has already gone,
// the watch waits for its return.
func lostWakeup(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.watch = func(a *attempt, name string) (events <-chan zk.Event, err error) {
		err = a.q.c.repeat(func() (err error) {
			_, _, events, err = a.q.c.Conn.ExistsW(path.Join(a.q.dir, name))
			return err
		})
		return events, err
	}
	return Ways{Write: q}
}

// cancelledCleanup cleans up with the caller's context, whose end is the very reason for the cleanup.
func cancelledCleanup(cfg Config) Ways {
	q := newQueue(cfg, cfg.Path, locking)
	q.discard = func(ctx context.Context, a *attempt) {
		if ctx.Err() == nil {
			_ = a.remove()
		}
	}
	return Ways{Write: q}
}

// A forgetful dialer makes servers forget sessions, as some do that speak ZooKeeper's protocol: they answer a reconnect
// with a new session. It also makes the client believe that it has its old session, as a client does that does not
// compare the two. The old session ends at its timeout, and its znodes go with it.
type forgetful struct {
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (f *forgetful) connect(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := f.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &forgetfulConn{Conn: c}, nil
}

// A forgetfulConn is one connection. go-zookeeper writes a frame at a time, and the first is the connect request.
type forgetfulConn struct {
	net.Conn
	begun bool
	read  int    // bytes so far
	was   []byte // the session, the length of its password, and that, as the client has them; nil if it has none
}

// Where the session is in the connect request and in its answer, with their lengths.
const (
	sessionAsked   = 4 + 4 + 8 + 4
	sessionGranted = 4 + 4 + 4
	sessionSize    = 8 + 4 + 16 // with the password and its length
)

// Write asks for a new session where the client asks for its own.
func (c *forgetfulConn) Write(p []byte) (int, error) {
	const end = sessionAsked + sessionSize
	if !c.begun && len(p) >= end && binary.BigEndian.Uint64(p[sessionAsked:]) != 0 {
		c.was = append([]byte(nil), p[sessionAsked:end]...)
		p = append([]byte(nil), p...)
		clear(p[sessionAsked : sessionAsked+8])
		clear(p[end-16 : end])
	}
	c.begun = true
	return c.Conn.Write(p)
}

// Read shows the client its own session in the server's answer.
func (c *forgetfulConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	for i := range p[:n] {
		if at := c.read + i - sessionGranted; at >= 0 && at < len(c.was) {
			p[i] = c.was[at]
		}
	}
	c.read = min(c.read+n, sessionGranted+sessionSize)
	return n, err
}

// Connect returns the client that the lock works with, as [Connect] does. The client of a lock that gives its session
// up goes by its own clock, as Curator's does: once it has heard nothing for the session timeout, it makes another
// session. The service may keep the old one for longer, for a new leader counts the timeouts from its election.
func (l Lock) Connect(ctx context.Context, cfg zksession.Config) (*zksession.Plain, error) {
	if l.Forgetful {
		cfg.Dial = (&forgetful{dial: cfg.Dial}).connect
	}
	if l.GivesUp {
		cfg.Dial = (&ownClock{dial: cfg.Dial, timeout: cfg.Timeout, begun: time.Now()}).connect
	}
	return Connect(ctx, cfg)
}

// An ownClock makes the connections of a client that gives its session up by its own clock.
type ownClock struct {
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	timeout time.Duration
	begun   time.Time
	heard   atomic.Int64 // when a server last said something, since begun
}

func (o *ownClock) connect(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := o.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &ownClockConn{Conn: c, of: o}, nil
}

// An ownClockConn is one connection. go-zookeeper writes a frame at a time, and the first is the connect request.
type ownClockConn struct {
	net.Conn
	of    *ownClock
	begun bool
}

func (c *ownClockConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.of.heard.Store(int64(time.Since(c.of.begun)))
	}
	return n, err
}

// Write spoils the password of a session that the client has given up. The server then refuses that session, and
// go-zookeeper makes another.
func (c *ownClockConn) Write(p []byte) (int, error) {
	const session, password = 4 + 4 + 8 + 4, 4 + 4 + 8 + 4 + 8 + 4
	silence := time.Since(c.of.begun) - time.Duration(c.of.heard.Load())
	if !c.begun && len(p) > password && binary.BigEndian.Uint64(p[session:]) != 0 && silence > c.of.timeout {
		p = append([]byte(nil), p...)
		p[password] ^= 0xff
	}
	c.begun = true
	return c.Conn.Write(p)
}
