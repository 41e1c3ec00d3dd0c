package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"locklab/harness/history"
	"locklab/recipes/zkproto"
)

// A link makes the connections of a session. It knows what the servers granted to the session, so the client can do
// to its own session what no other process can: end it, or drive it away from its server.
type link struct {
	connect func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex
	conn    net.Conn // the last one
	address string   // its server
	granted zkproto.Grant
	refused map[string]string // by fault: the address of a server that is not to be dialled
	died    int               // how often the client has died
}

// errKeptAway is the error of a dial to a server that a fault keeps the session away from.
var errKeptAway = errors.New("kept from this server by a fault")

// errDied is the error of a dial of a session whose client has died.
var errDied = errors.New("the client has died")

// live returns the dialer of a session, and what tells whether its client lives.
func (l *link) live() (dial func(ctx context.Context, network, address string) (net.Conn, error), alive func() bool) {
	deaths := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.died
	}
	before := deaths()
	alive = func() bool { return deaths() == before }
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if !alive() {
			return nil, errDied
		}
		return l.dial(ctx, network, address)
	}, alive
}

// die cuts the session off from the servers for good, as the end of the client's machine would.
func (l *link) die() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.died++
	l.reset()
}

// dial connects to a server that no fault keeps the session away from.
func (l *link) dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	for _, refused := range l.refused {
		if refused == address {
			l.mu.Unlock()
			return nil, errKeptAway
		}
	}
	l.mu.Unlock()
	raw, err := l.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.address = raw, address
	return &linkConn{Conn: raw, link: l}, nil
}

// A linkConn records the first answer that arrives over it: the server's answer to the handshake.
type linkConn struct {
	net.Conn
	link *link
	head []byte // of the answer; by the one goroutine that reads
	seen bool
}

func (c *linkConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if !c.seen {
		c.head = append(c.head, b[:n]...)
		if answer, short := zkproto.ReadFrame(bytes.NewReader(c.head), len(c.head)); short == nil {
			c.link.grant(answer)
			c.seen, c.head = true, nil
		}
	}
	return n, err
}

func (l *link) grant(answer []byte) {
	if g, err := zkproto.ParseGrant(answer); err == nil { // of session 0 where the one that it asked for has expired
		l.mu.Lock()
		defer l.mu.Unlock()
		l.granted = g
	}
}

// now returns the session, and the server of its last connection.
func (l *link) now() (session history.SessionID, server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return history.SessionID(l.granted.Session), l.address
}

// expireCap bounds how long a client tries to end its session, and attemptCap one attempt. attemptGap is the pause
// after one: servers that have no leader turn everybody away at once.
const (
	expireCap  = 5 * time.Second
	attemptCap = 2 * time.Second
	attemptGap = 20 * time.Millisecond
)

// expire ends the session at the servers: a second connection takes it over and closes it. The client may take
// it back in between, and servers may be choosing a leader, so it is tried again.
func (l *link) expire(ctx context.Context, servers []string) error {
	l.mu.Lock()
	g, server := l.granted, l.address
	l.mu.Unlock()
	if g.Session == 0 {
		return errors.New("expire: the client has no session")
	}
	ctx, cancel := context.WithTimeout(ctx, expireCap)
	defer cancel()
	for i := 1; ; i++ {
		err := l.close(ctx, g, server)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("expire, after %d attempts: %w", i, err)
		case <-time.After(attemptGap):
		}
		server = servers[i%len(servers)]
	}
}

// close ends a session by way of a server.
func (l *link) close(ctx context.Context, g zkproto.Grant, server string) error {
	ctx, cancel := context.WithTimeout(ctx, attemptCap)
	defer cancel()
	conn, err := l.connect(ctx, "tcp", server)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if err := zkproto.End(conn, g); err != nil {
		return fmt.Errorf("end session %s at %s: %w", history.SessionID(g.Session), server, err)
	}
	return nil
}

// leave resets the connection and keeps the session away from that server until the fault is settled.
func (l *link) leave(fault string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == nil {
		l.refused = map[string]string{}
	}
	l.refused[fault] = l.address
	l.reset()
}

// reset resets the connection. l.mu is held.
func (l *link) reset() {
	conn := l.conn
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset, and not a goodbye
	}
	if conn != nil {
		_ = conn.Close()
	}
}

// settle lets the session return to the server that a fault has driven it from, and returns that server; empty if
// there is none.
func (l *link) settle(fault string) (server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	server = l.refused[fault]
	delete(l.refused, fault)
	return server
}
