package broken

import (
	"context"
	"encoding/binary"
	"net"
	"sync/atomic"
	"time"

	"locklab/recipes/zksession"
)

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
