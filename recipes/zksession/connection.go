package zksession

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zkproto"
)

const (
	// firstHandshake is the least time for the handshake that makes the session,
	// which is a quorum write; no session runs out meanwhile.
	firstHandshake = time.Second
	// laterHandshake is the least time for a reconnect's.
	laterHandshake = 100 * time.Millisecond
	// closeGrace is the least time that Close gives the server: a session that is not closed keeps its znodes until its
	// timeout, and Close is often called with a context that has just ended.
	closeGrace = time.Second
)

// A connection is a [ZooKeeper] session on one zk.Conn that dies with its session.
//
// go-zookeeper makes a new session when one has expired, and sends what was queued
// under the old one. Looking at the session id after a call comes too late for a
// queued delete, so the successor is made impossible: the event that tells of the
// expiry reaches us before the redial, and from then on the dialer refuses.
type connection struct {
	cfg   Config
	hosts *hosts
	conn  *zk.Conn
	bufs  buffers
	// life ends with the session and with it every dial.
	life    context.Context
	end     context.CancelFunc
	changes *changes
	// failures are the reasons why servers could not be reached.
	failures failures
	calls    tasks.Set     // requests, watches, the notifier
	gone     chan struct{} // closed once go-zookeeper's goroutines and ours have ended
	xids     atomic.Uint32 // of direct requests
	noStat   atomic.Bool   // the server has no create2

	mu          sync.Mutex // never held while calling go-zookeeper, or anything that blocks
	socket      *handshakeConn
	frames      *framedConn // of the socket
	granted     zkproto.Grant
	server      string
	connected   bool
	heard       time.Time     // see Heard
	seen        int64         // the newest transaction that an answer told of
	rewatch     rewatch       // what the watches that are set again must not miss
	up          chan struct{} // closed while connected
	down        chan struct{} // closed while disconnected
	reconnected chan struct{} // closed by the next connect; nil if no caller waits for it
	doubt       chan struct{} // closed when the server has refused to set watches again
	done        chan struct{}
	err         error // why done is closed
}

// Connect returns a session once it is established, or an error that wraps that of ctx and the last failure of each
// server: while no server answers it goes on trying, and logs one warning when the session timeout has passed.
func Connect(ctx context.Context, cfg Config) (ZooKeeper, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := connect(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", strings.Join(cfg.Servers, ", "), err)
	}
	var z ZooKeeper = c
	if cfg.Wrap != nil {
		z = cfg.Wrap(z)
	}
	if cfg.Chroot != "" {
		return Chroot(z, cfg.Chroot)
	}
	return z, nil
}

// connect establishes a session on a connection. After an error nothing is left of it.
func connect(ctx context.Context, cfg Config) (*connection, error) {
	c := &connection{cfg: cfg, up: make(chan struct{}), down: make(chan struct{}), done: make(chan struct{}),
		gone: make(chan struct{}), doubt: make(chan struct{}), changes: newChanges(cfg.OnState)}
	close(c.down)
	c.life, c.end = context.WithCancel(context.WithoutCancel(ctx))
	c.hosts = &hosts{servers: zk.FormatServers(cfg.Servers), over: c.over}
	conn, events, err := zk.Connect(cfg.Servers, cfg.Timeout,
		zk.WithHostProvider(c.hosts), zk.WithDialer(c.dial), zk.WithEventCallback(c.event),
		zk.WithLogger(zkLogger{cfg.Logger}), zk.WithLogInfo(false),
		c.bufs.take)
	if err != nil {
		c.end()
		return nil, err
	}
	c.conn = conn
	c.calls.Start(c.changes.deliver)
	// Close waits for it, through gone. It is not started before, because a process may have thousands of sessions.
	context.AfterFunc(c.life, func() { c.awaitEnd(events) })
	warned := c.failures.warn(ctx, cfg)
	if err = c.Await(ctx); err == nil {
		err = c.authenticate(ctx)
	}
	warned()
	if err != nil {
		if !errors.Is(err, ErrAuthFailed) {
			err = c.failures.explain(err)
		}
		c.finish(ErrSessionClosed)
		<-c.gone // bounded: nothing waits for a server any more
		return nil, err
	}
	return c, nil
}

// awaitEnd waits, when the session is over, for everything that ran for it.
func (c *connection) awaitEnd(events <-chan zk.Event) {
	defer close(c.gone)
	c.mu.Lock()
	connected := c.connected
	c.mu.Unlock()
	if !connected {
		c.drop() // or Close would wait for a server that does not answer
	}
	c.conn.Close() // sends closeSession and gives it a second
	c.drop()
	for range events { // closed when go-zookeeper's own goroutines have ended
	}
	c.calls.Wait()
}

func (c *connection) drop() {
	c.mu.Lock()
	socket := c.socket
	c.mu.Unlock()
	if socket != nil {
		_ = socket.Close()
	}
}

// dial is go-zookeeper's way to a server.
func (c *connection) dial(network, address string, limit time.Duration) (net.Conn, error) {
	failed := func(err error) { c.failures.note(address, err) }
	conn, err := c.dialOnce(network, address, limit, failed)
	if err != nil {
		failed(err)
	}
	return conn, err
}

// dialOnce calls failed if the handshake fails, after it has returned a connection.
func (c *connection) dialOnce(network, address string, limit time.Duration, failed func(error)) (net.Conn, error) {
	if pause := c.hosts.pause(); pause > 0 {
		select {
		case <-time.After(pause):
		case <-c.done:
		}
	}
	c.mu.Lock()
	timeout, least := c.granted.Timeout, laterHandshake
	c.mu.Unlock()
	if timeout == 0 {
		timeout, least = c.cfg.Timeout, firstHandshake
	}
	// A third of the session timeout for a server that does not answer leaves time for another.
	budget := max(timeout/3, least)
	ctx, cancel := context.WithTimeout(c.life, min(limit, budget))
	defer cancel()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	raw, err := c.cfg.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	framed := newFramedConn(newBufferedConn(raw), len(c.cfg.Credentials), c.seen, c.heardOf, c.answered)
	c.rewatch.dialled()
	c.mu.Unlock()
	socket, err := newHandshakeConn(framed, time.Now().Add(budget), c.grant)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	socket.failed = failed
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return nil, errors.Join(c.err, raw.Close())
	}
	c.bufs.dial(socket)
	c.socket, c.frames, c.server = socket, framed, address
	return socket, nil
}

// grant records the outcome of a handshake.
func (c *connection) grant(h zkproto.Grant) {
	if h.Session == 0 {
		return // the session has expired; go-zookeeper reports that
	}
	c.mu.Lock()
	replaced := c.granted.Session != 0 && c.granted.Session != h.Session
	if !replaced {
		c.granted = h
	}
	c.mu.Unlock()
	if replaced {
		// A server that has forgotten the session may give its client another one without a word, as ClickHouse Keeper does.
		// The old one has ended, or will end when nobody hears of it any more. go-zookeeper is about to send what was queued
		// under the old one, so the socket is closed before it hears of the new one.
		c.finish(ErrSessionExpired)
		c.drop()
	}
}

// heardOf returns the transaction up to which the session has heard of every change that it watched for.
func (c *connection) heardOf() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rewatch.heard
}

// answered takes note of an answer of the server.
func (c *connection) answered(a answer) {
	if a.op == zkproto.OpAuth && a.code != 0 {
		c.mu.Lock()
		server := c.server
		c.mu.Unlock()
		c.finish(fmt.Errorf("%w: %s %s", ErrAuthFailed, server, refusedCredential(a.code)))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.sent.After(c.heard) && !misplaced(a.code) {
		c.heard = a.sent
	}
	c.seen = max(c.seen, a.zxid)
	c.rewatch.answered(a)
	if a.op == zkproto.OpSetWatches && a.code != 0 {
		// go-zookeeper only logs it. All watches of the request are gone, and it is not known which these were.
		close(c.doubt)
		c.doubt = make(chan struct{})
	}
}

// event is called by go-zookeeper, partly under its locks: it must neither block
// nor call back.
func (c *connection) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	switch e.State {
	case zk.StateHasSession:
		c.enter()
	case zk.StateDisconnected:
		c.leave()
	case zk.StateExpired:
		c.finish(ErrSessionExpired)
	}
}

func (c *connection) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.connected {
		return
	}
	c.connected = true
	c.rewatch.connected()
	close(c.up)
	c.down = make(chan struct{})
	if c.reconnected != nil {
		close(c.reconnected)
		c.reconnected = nil
	}
	c.changes.push(c.change(Connected, nil), false)
}

// leave makes the session disconnected.
func (c *connection) leave() {
	c.mu.Lock()
	socket := c.socket
	c.mu.Unlock()
	var cause error
	if socket != nil {
		cause = socket.cause()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.connected {
		return // it was not connected
	}
	c.connected = false
	c.up = make(chan struct{})
	close(c.down)
	if c.frames != nil {
		c.frames.lose() // whoever tries again waits until the session is connected
	}
	if c.err == nil {
		c.changes.push(c.change(Disconnected, cause), false)
	}
}

// finish ends the session because of err, unless it has ended already.
func (c *connection) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = err
	close(c.done)
	c.end()
	if c.granted.Session == 0 {
		c.changes.end() // no session was ever established
		return
	}
	state := Closed
	if errors.Is(err, ErrSessionExpired) {
		state = Expired
	}
	c.changes.push(c.change(state, err), true)
}

// change describes the present state. c.mu is held.
func (c *connection) change(s State, err error) StateChange {
	return StateChange{State: s, Session: c.granted.Session, Server: c.server, Negotiated: c.granted.Timeout, Err: err}
}

func (c *connection) over() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *connection) Await(ctx context.Context) error {
	for {
		c.mu.Lock()
		up, err := c.up, c.err
		c.mu.Unlock()
		if err != nil {
			return err
		}
		if ctx.Err() != nil { // also if it is connected, so that nothing is sent any more
			return tasks.Ended(ctx)
		}
		select {
		case <-up:
			return nil
		case <-c.done:
		case <-ctx.Done():
			return tasks.Ended(ctx)
		}
	}
}

func (c *connection) Reconnected() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reconnected == nil {
		c.reconnected = make(chan struct{})
	}
	return c.reconnected
}

func (c *connection) Disconnected() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.down
}

func (c *connection) Heard() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heard
}

func (c *connection) ID() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.granted.Session
}

func (c *connection) Timeout() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.granted.Timeout
}

func (c *connection) Done() <-chan struct{} { return c.done }

func (c *connection) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *connection) Close(ctx context.Context) error {
	ctx, stop := tasks.Grace(ctx, closeGrace)
	defer stop()
	c.linger()
	c.mu.Lock()
	connected, was := c.connected, c.err
	c.mu.Unlock()
	c.finish(ErrSessionClosed)
	select {
	case <-c.gone:
	case <-ctx.Done():
		c.drop()
		return fmt.Errorf("close session: %w", tasks.Ended(ctx))
	}
	if was == nil && !connected {
		return fmt.Errorf("close session: %w: the server will expire it", ErrConnectionLoss)
	}
	return nil
}

// linger gives a session that is disconnected the time of the grace to be connected again, so that a server can be told
// of its end. Programs often end together with the server that they are connected to.
func (c *connection) linger() {
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	_ = c.Await(ctx) // if it fails, no server is told
}

// zkLogger forwards go-zookeeper's messages to the logger.
type zkLogger struct{ log *slog.Logger }

func (l zkLogger) Printf(format string, args ...any) {
	l.log.Debug("zookeeper client: " + fmt.Sprintf(format, args...))
}
