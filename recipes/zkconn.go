package recipes

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// A peerConn is a zk.Conn as its users have it: when a session has expired it makes another.
type peerConn struct {
	cfg     ZKLockConfig
	zk      *zk.Conn
	life    context.Context // ends with close
	end     context.CancelCauseFunc
	changes *changes
	tasks   tasks         // acquisitions, releases, the notifier
	gone    chan struct{} // closed when all goroutines have ended

	mu        sync.Mutex // never held while calling go-zookeeper, or anything that blocks
	socket    *handshakeConn
	granted   handshake
	session   *peerSession  // the present or last; nil before the first
	up        chan struct{} // closed when there is a first session
	connected bool
}

// A peerSession is one of the sessions that a peerConn has.
type peerSession struct {
	id   int64
	life context.Context
	end  context.CancelCauseFunc
}

// unhurried is a bound for handshakes that leaves zk.Conn to its own.
const unhurried = 24 * time.Hour

// connectPeer returns once there is a session, or ctx has ended.
func connectPeer(ctx context.Context, cfg ZKLockConfig) (*peerConn, error) {
	c := &peerConn{cfg: cfg, changes: newChanges(cfg.OnState), gone: make(chan struct{}), up: make(chan struct{})}
	c.life, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	conn, events, err := zk.Connect(cfg.Servers, cfg.Timeout, zk.WithHostProvider(&inOrder{servers: zk.FormatServers(cfg.Servers), curr: -1, last: -1}), zk.WithDialer(c.dial),
		zk.WithEventCallback(c.event), zk.WithLogger(zkLogger{cfg.Logger}), zk.WithLogInfo(false))
	if err != nil {
		c.end(err)
		return nil, err
	}
	c.zk = conn
	c.tasks.start(c.changes.deliver)
	go c.bury(events) // close waits for it
	select {
	case <-c.up:
		return c, nil
	case <-ctx.Done():
		_ = c.close(context.WithoutCancel(ctx)) // bounded: see bury
		return nil, ended(ctx)
	}
}

// bury waits for close, and then for everything that ran. zk.Conn.Close takes a few seconds at the most.
func (c *peerConn) bury(events <-chan zk.Event) {
	defer close(c.gone)
	<-c.life.Done()
	c.zk.Close()
	c.mu.Lock()
	socket := c.socket
	c.mu.Unlock()
	if socket != nil {
		_ = socket.Close()
	}
	for range events { // closed when zk.Conn's own goroutines have ended
	}
	c.tasks.wait()
}

func (c *peerConn) dial(network, address string, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.life, limit)
	defer cancel()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	raw, err := c.cfg.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	socket, err := newHandshakeConn(raw, time.Now().Add(unhurried), c.grant)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return nil, errors.Join(c.life.Err(), raw.Close())
	}
	c.socket = socket
	return socket, nil
}

// grant takes note of a handshake.
func (c *peerConn) grant(h handshake) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.session != 0 {
		c.granted = h
	}
}

// event is called by zk.Conn, partly under its locks: it must neither block nor call back.
func (c *peerConn) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return
	}
	switch {
	case e.State == zk.StateHasSession && !c.connected:
		c.connected = true
		c.begin()
		c.push(Connected, e.Server, nil)
	case e.State == zk.StateDisconnected && c.connected:
		c.connected = false
		c.push(Disconnected, e.Server, e.Err)
	case e.State == zk.StateExpired && c.session != nil:
		c.session.end(lost(ErrSessionExpired))
		c.push(Expired, e.Server, ErrSessionExpired)
	}
}

// begin makes the session that was granted the present one. c.mu is held.
func (c *peerConn) begin() {
	if s := c.session; s != nil && s.id == c.granted.session {
		return
	}
	if c.session == nil {
		close(c.up)
	} else {
		c.session.end(lost(ErrSessionExpired)) // if that was not told
	}
	s := &peerSession{id: c.granted.session}
	s.life, s.end = context.WithCancelCause(c.life)
	c.session = s
}

// push tells of a state. c.mu is held.
func (c *peerConn) push(state State, server string, err error) {
	c.changes.push(StateChange{State: state, Session: c.session.id, Server: server, Negotiated: c.granted.timeout, Err: err}, state == Closed)
}

// present returns the session that zk.Conn has, or had last.
func (c *peerConn) present() *peerSession {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

func (c *peerConn) over() error {
	if c.life.Err() != nil {
		return ErrSessionClosed
	}
	return nil
}

// translate says in the recipes' terms what zk.Lock returned.
func (c *peerConn) translate(err error) error {
	switch {
	case c.over() != nil:
		return c.over()
	case errors.Is(err, zk.ErrSessionExpired):
		return ErrSessionExpired
	case errors.Is(err, zk.ErrClosing):
		return ErrSessionClosed
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth):
		return err
	}
	return fmt.Errorf("%w: %w", ErrConnectionLoss, err)
}

// close ends what descends from the connection, then the session at the server if it can be reached.
func (c *peerConn) close(ctx context.Context) error {
	var unreachable error
	c.mu.Lock()
	if c.life.Err() == nil {
		if c.session != nil && !c.connected {
			unreachable = fmt.Errorf("close zk.Lock's connection: %w: the server will expire its session", ErrConnectionLoss)
		}
		c.end(lost(ErrSessionClosed))
		if c.session == nil {
			c.changes.end()
		} else {
			c.push(Closed, "", ErrSessionClosed)
		}
	}
	c.mu.Unlock()
	select {
	case <-c.gone:
		return unreachable
	case <-ctx.Done():
		return fmt.Errorf("close zk.Lock's connection: %w", ended(ctx))
	}
}

// inOrder hands out servers as zk.DNSHostProvider does, but in the caller's order and without a lookup, which is the
// dialer's.
type inOrder struct {
	mu         sync.Mutex
	servers    []string
	curr, last int
}

// Init ignores its list, which is shuffled.
func (p *inOrder) Init([]string) error { return nil }
func (p *inOrder) Len() int            { return len(p.servers) }

func (p *inOrder) Next() (server string, newRound bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.curr = (p.curr + 1) % len(p.servers)
	newRound = p.curr == p.last
	if p.last < 0 {
		p.last = 0
	}
	return p.servers[p.curr], newRound
}

func (p *inOrder) Connected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last = p.curr
}
