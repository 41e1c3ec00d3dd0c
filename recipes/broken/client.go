package broken

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/recipes"
)

// ClientConfig says how to connect.
type ClientConfig struct {
	// Servers are host:port, tried in this order and round again.
	Servers []string
	// Timeout is the session timeout to ask for.
	Timeout time.Duration
	// Dial makes connections; nil = a plain net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// OnState, if set, is told of each session's beginning, of the connection's comings and goings, and of
	// the session's expiry, in order. It must not block, nor call the client.
	OnState func(recipes.StateChange)
	// Logger gets go-zookeeper's chatter at debug level; nil = nobody does.
	Logger *slog.Logger

	_ struct{} // no positional literals
}

// A Client is a plain client as most locks of the field are built on: go-zookeeper's,
// which makes a new session when one has expired, and keeps what is queued for it. Its
// methods may be called from any goroutine. Requests are not cut short by a context: while
// no server can be reached they wait.
type Client struct {
	conn   *zk.Conn
	cfg    ClientConfig
	events <-chan zk.Event
	done   chan struct{} // closed by Close
	gone   chan struct{} // closed once go-zookeeper's goroutines have ended
	once   sync.Once

	mu    sync.Mutex  // never held while calling go-zookeeper
	shake *time.Timer // ends a handshake that takes too long
	up    chan struct{}
	life  context.Context // of the present session
	end   context.CancelCauseFunc
	told  recipes.StateChange // the last that OnState was told of
	hello *greeted            // the present connection
}

// Connect returns once there is a session, or ctx ends.
func Connect(ctx context.Context, cfg ClientConfig) (*Client, error) {
	if cfg.Dial == nil {
		cfg.Dial = new(net.Dialer).DialContext
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	c := &Client{cfg: cfg, done: make(chan struct{}), gone: make(chan struct{}), up: make(chan struct{})}
	c.life, c.end = context.WithCancelCause(context.Background())
	var err error
	c.conn, c.events, err = zk.Connect(cfg.Servers, cfg.Timeout, zk.WithHostProvider(&rounds{servers: cfg.Servers, over: c.over}),
		zk.WithDialer(c.dial), zk.WithEventCallback(c.event), zk.WithLogger(logger{cfg.Logger}), zk.WithLogInfo(false),
		zk.WithMaxConnBufferSize(buffer), zk.WithMaxBufferSize(buffer))
	if err != nil {
		return nil, fmt.Errorf("connect to %v: %w", cfg.Servers, err)
	}
	go func() { // Close waits for it
		for range c.events {
		}
		close(c.gone)
	}()
	if _, err := c.session(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %v: %w", cfg.Servers, err), c.Close(context.WithoutCancel(ctx)))
	}
	return c, nil
}

// buffer holds the largest request and reply.
const buffer = 512 << 10

// handshake bounds the time in which a server must answer a connect request. go-zookeeper would wait for
// almost seven session timeouts, and a server can forget one of two requests that
// name the same session at the same time.
const handshake = time.Second

// redial is the pause between attempts to reach a server.
const redial = 10 * time.Millisecond

func (c *Client) dial(network, address string, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	conn, err := c.cfg.Dial(ctx, network, address)
	if err != nil {
		select {
		case <-time.After(redial):
		case <-c.done:
		}
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shake = time.AfterFunc(handshake, func() { _ = conn.Close() })
	c.hello = &greeted{Conn: conn}
	return c.hello, nil
}

// event is called by go-zookeeper, partly under its locks: it must not block.
func (c *Client) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	if change, ok := c.change(e); ok && c.cfg.OnState != nil {
		c.cfg.OnState(change) // in order: one goroutine of go-zookeeper's has all events of sessions
	}
}

// change takes note of an event, and returns what there is to tell of it.
func (c *Client) change(e zk.Event) (recipes.StateChange, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.State == zk.StateHasSession || e.State == zk.StateExpired {
		c.shake.Stop()
	}
	told := c.told
	told.Server, told.Err = e.Server, e.Err
	switch e.State {
	case zk.StateHasSession:
		close(c.up)
		told.State = recipes.Connected
		told.Session, told.Negotiated = c.hello.granted()
	case zk.StateDisconnected:
		select {
		case <-c.up:
			c.up = make(chan struct{})
			told.State = recipes.Disconnected
		default:
			return told, false
		}
	case zk.StateExpired:
		c.end(fmt.Errorf("%w: %w", recipes.ErrLockLost, recipes.ErrSessionExpired))
		c.life, c.end = context.WithCancelCause(context.Background())
		told.State, told.Err = recipes.Expired, recipes.ErrSessionExpired
	default:
		return told, false
	}
	c.told = told
	return told, !c.over()
}

// A session is one of those that a client has one after the other.
type session struct {
	id   int64
	life context.Context // ends when the client learns that the session is over
}

// over returns the session's end, if it is known.
func (s session) over() error {
	if s.life.Err() != nil {
		return recipes.ErrSessionExpired
	}
	return nil
}

// session returns the session that the client has now, waiting for one if need be.
func (c *Client) session(ctx context.Context) (session, error) {
	for {
		c.mu.Lock()
		up, life := c.up, c.life
		c.mu.Unlock()
		select {
		case <-up:
		case <-c.done:
			return session{}, recipes.ErrSessionClosed
		case <-ctx.Done():
			return session{}, ctx.Err()
		}
		if s := (session{c.conn.SessionID(), life}); s.id != 0 && s.over() == nil {
			return s, nil
		}
	}
}

// SessionID returns the id of the session that the client has now, or had last.
func (c *Client) SessionID() int64 { return c.conn.SessionID() }

// Done is closed by Close: a session that expires is followed by another.
func (c *Client) Done() <-chan struct{} { return c.done }

// Err returns nil until Close, then recipes.ErrSessionClosed.
func (c *Client) Err() error {
	if c.over() {
		return recipes.ErrSessionClosed
	}
	return nil
}

func (c *Client) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Close ends the session, at the service too if it can be reached, and waits for
// go-zookeeper's goroutines, or for ctx.
func (c *Client) Close(ctx context.Context) error {
	c.once.Do(func() {
		close(c.done)
		c.mu.Lock()
		end := c.end
		c.mu.Unlock()
		end(fmt.Errorf("%w: %w", recipes.ErrLockLost, recipes.ErrSessionClosed))
		c.conn.Close()
	})
	select {
	case <-c.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close session: %w", ctx.Err())
	}
}

// answered reports whether err, if it is one, is a server's answer. go-zookeeper has no
// values for some, only text.
func answered(err error) bool {
	return err == nil || slices.Contains([]error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoAuth,
		zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments}, err) || strings.HasPrefix(err.Error(), "unknown error")
}

// repeat makes a request that may be repeated until it is answered, in whichever session.
func (c *Client) repeat(request func() error) error {
	for {
		err := request()
		if answered(err) {
			return err
		}
		if c.over() {
			return recipes.ErrSessionClosed
		}
	}
}

// rounds gives go-zookeeper the servers in order. It asks for a new round, at whose beginning
// go-zookeeper would drop what is queued, only when the client is closed: other languages'
// clients keep it too.
type rounds struct {
	servers []string
	over    func() bool
	next    int // go-zookeeper calls from one goroutine
}

func (r *rounds) Init([]string) error { return nil } // its list is shuffled
func (r *rounds) Len() int            { return len(r.servers) }
func (r *rounds) Connected()          {}

func (r *rounds) Next() (server string, newRound bool) {
	server = r.servers[r.next%len(r.servers)]
	r.next++
	return server, r.over()
}

// logger hands go-zookeeper's messages on.
type logger struct{ log *slog.Logger }

func (l logger) Printf(format string, args ...any) { l.log.Debug(fmt.Sprintf(format, args...)) }
