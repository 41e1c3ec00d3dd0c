package zksession

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"locklab/recipes/internal/tasks"
	"locklab/recipes/zkproto"
)

// PlainConfig says how to connect a [Plain].
type PlainConfig struct {
	// Config is as for [Connect], but OnState is called with the states of each session in turn: other states may
	// follow Expired.
	Config
	// Lost makes the cause with which a session's context ends from ErrSessionExpired or ErrSessionClosed;
	// nil = the error itself.
	Lost func(error) error
	// KeepRequests lets requests wait until a server can be reached, as the clients of other languages do, and bounds
	// each handshake by a second. Without it, go-zookeeper's own behaviour applies: it fails every waiting request
	// when it has tried all servers in vain, and waits for a handshake for almost seven session timeouts.
	KeepRequests bool

	_ struct{} // no positional literals
}

// A Plain is a zk.Conn as its users have it: when a session has expired it makes another one, and sends there what it
// had queued for the first. The locks to compare with, and the locks known to be broken, are built on it. It mends
// nothing; it only reports which session there is. Its methods may be called from any goroutine.
type Plain struct {
	// Conn makes the requests. They are not cut short by a context.
	Conn *zk.Conn
	// GUID is that of the configuration. It is never nil.
	GUID func() string

	cfg     PlainConfig
	hosts   zk.HostProvider
	pause   func() time.Duration // before a dial
	life    context.Context      // ends with Close
	end     context.CancelCauseFunc
	changes *changes
	// failures are the reasons why servers could not be reached.
	failures failures
	tasks    tasks.Set     // the caller's tasks, and the notifier
	gone     chan struct{} // closed when all goroutines have ended

	mu         sync.Mutex // never held while calling go-zookeeper, or anything that blocks
	socket     *handshakeConn
	granted    zkproto.Grant
	session    PlainSession // the present or last; zero before the first
	endSession context.CancelCauseFunc
	up         chan struct{} // closed while connected
	connected  bool
}

// A PlainSession is one of the sessions that a [Plain] has, one after the other.
type PlainSession struct {
	ID int64
	// Life ends when the client learns that the session is over.
	Life context.Context
}

// Err returns ErrSessionExpired once the client knows that the session is over.
func (s PlainSession) Err() error {
	if s.Life.Err() != nil {
		return ErrSessionExpired
	}
	return nil
}

const (
	// boundedHandshake is the time in which a server must answer where handshakes are bounded: a server can
	// forget one of two connect requests that name the same session at the same time.
	boundedHandshake = time.Second
	// unboundedHandshake leaves handshakes to go-zookeeper's own bound.
	unboundedHandshake = 24 * time.Hour
)

// ConnectPlain returns once there is a session, or an error that wraps that of ctx and the last failure of each server.
// It logs one warning when the session timeout has passed without a session.
func ConnectPlain(ctx context.Context, cfg PlainConfig) (*Plain, error) {
	if cfg.ACL != nil {
		return nil, errors.New("connect: a plain connection has no ACL: its users give zk.Conn theirs")
	}
	var err error
	if cfg.Config, err = cfg.withDefaults(); err != nil {
		return nil, err
	}
	if cfg.Chroot != "" {
		return nil, errors.New("connect: go-zookeeper has no chroots")
	}
	if cfg.Lost == nil {
		cfg.Lost = func(err error) error { return err }
	}
	if cfg.GUID == nil {
		cfg.GUID = uuid.NewString
	}
	p := &Plain{GUID: cfg.GUID, cfg: cfg, changes: newChanges(cfg.OnState), gone: make(chan struct{}),
		up: make(chan struct{})}
	p.life, p.end = context.WithCancelCause(context.WithoutCancel(ctx))
	if servers := zk.FormatServers(cfg.Servers); cfg.KeepRequests {
		h := &hosts{servers: servers, over: func() bool { return p.life.Err() != nil }}
		p.hosts, p.pause = h, h.pause
	} else {
		p.hosts = &inOrder{servers: servers, curr: -1, last: -1}
		p.pause = func() time.Duration { return 0 }
	}
	_, events, err := zk.Connect(cfg.Servers, cfg.Timeout, zk.WithHostProvider(p.hosts), zk.WithDialer(p.dial),
		zk.WithEventCallback(p.event), zk.WithLogger(zkLogger{cfg.Logger}), zk.WithLogInfo(false),
		func(conn *zk.Conn) { p.Conn = conn }) // before it dials
	if err != nil {
		p.end(err)
		return nil, fmt.Errorf("connect to %s: %w", strings.Join(cfg.Servers, ", "), err)
	}
	p.tasks.Start(p.changes.deliver)
	go p.await(events) // Close waits for it
	warned := p.failures.warn(ctx, cfg.Config)
	_, err = p.Session(ctx)
	if err == nil {
		err = p.authenticate(ctx)
	}
	warned()
	if err != nil {
		err = fmt.Errorf("connect to %s: %w", strings.Join(cfg.Servers, ", "), p.failures.explain(err))
		return nil, errors.Join(err, p.Close(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// authenticate sends the credentials. go-zookeeper sends them again on each later connection.
func (p *Plain) authenticate(ctx context.Context) error {
	for _, cred := range p.cfg.Credentials {
		for {
			err := p.HandOver(ctx, func() error { return p.Conn.AddAuth(cred.scheme, cred.auth) }, func() {})
			if !errors.Is(err, zk.ErrConnectionClosed) { // adding a credential twice does no harm
				if err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// await waits for Close, and then for everything that ran. zk.Conn.Close takes a few seconds at the most.
func (p *Plain) await(events <-chan zk.Event) {
	defer close(p.gone)
	<-p.life.Done()
	p.Conn.Close()
	p.mu.Lock()
	socket := p.socket
	p.mu.Unlock()
	if socket != nil {
		_ = socket.Close()
	}
	for range events { // closed when zk.Conn's own goroutines have ended
	}
	p.tasks.Wait()
}

// dial is go-zookeeper's way to a server.
func (p *Plain) dial(network, address string, limit time.Duration) (net.Conn, error) {
	failed := func(err error) { p.failures.note(address, err) }
	conn, err := p.dialOnce(network, address, limit, failed)
	if err != nil {
		failed(err)
	}
	return conn, err
}

// dialOnce calls failed if the handshake fails, after it has returned a connection.
func (p *Plain) dialOnce(network, address string, limit time.Duration, failed func(error)) (net.Conn, error) {
	if pause := p.pause(); pause > 0 {
		select {
		case <-time.After(pause):
		case <-p.life.Done():
		}
	}
	ctx, cancel := context.WithTimeout(p.life, limit)
	defer cancel()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	raw, err := p.cfg.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	bound := unboundedHandshake
	if p.cfg.KeepRequests {
		bound = boundedHandshake
	}
	socket, err := newHandshakeConn(raw, time.Now().Add(bound), p.grant)
	if err != nil {
		return nil, errors.Join(err, raw.Close())
	}
	socket.failed = failed
	growing(p.Conn, socket, 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return nil, errors.Join(p.life.Err(), raw.Close())
	}
	p.socket = socket
	return socket, nil
}

// grant records the outcome of a handshake.
func (p *Plain) grant(h zkproto.Grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.Session != 0 {
		p.granted = h
	}
}

// event is called by go-zookeeper, partly under its locks: it must neither block nor call back.
func (p *Plain) event(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life.Err() != nil {
		return
	}
	switch {
	case e.State == zk.StateHasSession && !p.connected:
		p.connected = true
		p.begin()
		close(p.up)
		p.push(Connected, e.Server, nil)
	case e.State == zk.StateDisconnected && p.connected:
		p.connected, p.up = false, make(chan struct{})
		p.push(Disconnected, e.Server, e.Err)
	case e.State == zk.StateExpired && p.session.ID != 0:
		p.endSession(p.cfg.Lost(ErrSessionExpired))
		p.push(Expired, e.Server, ErrSessionExpired)
	}
}

// begin makes the session that was granted the present one. p.mu is held.
func (p *Plain) begin() {
	if p.session.ID == p.granted.Session {
		return
	}
	if p.session.ID != 0 {
		if p.session.Life.Err() == nil { // go-zookeeper did not report it: the server gave another session without a word
			p.endSession(p.cfg.Lost(ErrSessionExpired))
			p.push(Expired, "", ErrSessionExpired)
		}
	}
	p.session.ID = p.granted.Session
	p.session.Life, p.endSession = context.WithCancelCause(p.life)
}

// push reports a state. p.mu is held.
func (p *Plain) push(state State, server string, err error) {
	p.changes.push(
		StateChange{State: state, Session: p.session.ID, Server: server, Negotiated: p.granted.Timeout, Err: err},
		state == Closed,
	)
}

// Session returns the session that is connected now. It waits for one if need be.
func (p *Plain) Session(ctx context.Context) (PlainSession, error) {
	for {
		p.mu.Lock()
		up, s, connected := p.up, p.session, p.connected
		p.mu.Unlock()
		switch {
		case p.life.Err() != nil:
			return PlainSession{}, ErrSessionClosed
		case connected && s.Life.Err() == nil:
			return s, nil
		}
		select {
		case <-up:
		case <-p.life.Done():
		case <-ctx.Done():
			return PlainSession{}, tasks.Ended(ctx)
		}
	}
}

// Last returns the present or the last session.
func (p *Plain) Last() PlainSession {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.session
}

// Done is closed by Close: a session that expires is followed by another.
func (p *Plain) Done() <-chan struct{} { return p.life.Done() }

// Err returns nil until Close, then ErrSessionClosed.
func (p *Plain) Err() error {
	if p.life.Err() != nil {
		return ErrSessionClosed
	}
	return nil
}

// HandOver runs work in a goroutine, which Close waits for, and returns its error. If ctx ends first it returns at
// once, and late is called if work succeeds after all.
func (p *Plain) HandOver(ctx context.Context, work func() error, late func()) error {
	_, err := tasks.HandOver(ctx, &p.tasks, p.Err,
		func(context.Context) (struct{}, error) { return struct{}{}, work() }, func(struct{}) { late() })
	return err
}

// Close ends the present session: its context first, then at the server if one can be reached, and waits for all
// goroutines, or until ctx has ended and a second has passed; then it returns an error that wraps that of ctx. It
// returns an error wrapping ErrConnectionLoss if no server could be told.
func (p *Plain) Close(ctx context.Context) error {
	var unreachable error
	p.mu.Lock()
	if p.life.Err() == nil {
		if p.session.ID != 0 && !p.connected {
			unreachable = fmt.Errorf("close session: %w: the server will expire it", ErrConnectionLoss)
		}
		p.end(p.cfg.Lost(ErrSessionClosed))
		if p.session.ID == 0 {
			p.changes.end()
		} else {
			p.push(Closed, "", ErrSessionClosed)
		}
	}
	p.mu.Unlock()
	ctx, stop := tasks.Grace(ctx, closeGrace)
	defer stop()
	select {
	case <-p.gone:
		return unreachable
	case <-ctx.Done():
		return fmt.Errorf("close session: %w", tasks.Ended(ctx))
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
func (o *inOrder) Init([]string) error { return nil }

// Len and the methods below implement [zk.HostProvider].
func (o *inOrder) Len() int { return len(o.servers) }

func (o *inOrder) Next() (server string, newRound bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.curr = (o.curr + 1) % len(o.servers)
	newRound = o.curr == o.last
	if o.last < 0 {
		o.last = 0
	}
	return o.servers[o.curr], newRound
}

func (o *inOrder) Connected() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = o.curr
}
