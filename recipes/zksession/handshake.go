package zksession

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"locklab/recipes/zkproto"
)

// connectResponseMax bounds the length that a connect response can plausibly have.
const connectResponseMax = 256

// A handshakeConn reads the first answer on a connection as it passes, which contains what go-zookeeper keeps to
// itself, and bounds the time that the handshake may take.
//
// The bound is needed because go-zookeeper waits for the answer's length for almost seven session timeouts, and for its
// body for ever: a server that accepts connections but is stopped would use up the session while others could serve it.
type handshakeConn struct {
	net.Conn
	granted func(zkproto.Grant)
	// receiving is called by the first read after the handshake, widen by the first write
	// for which it is wanted, each before it does anything else; see [buffers].
	receiving, widen func()
	wanted, wide     atomic.Bool
	received         bool // by the one goroutine that reads
	// failed, if set, is called with the error that broke the connection in the handshake.
	failed func(error)

	mu    sync.Mutex
	until time.Time // end of the handshake; zero once it is over
	head  []byte    // of the answer: length and as much of the body as was read
	err   error     // what broke the connection
}

// newHandshakeConn wraps a fresh connection whose handshake must be over by until.
// granted is called from Read with the answer before the reader gets its last byte.
func newHandshakeConn(conn net.Conn, until time.Time, granted func(zkproto.Grant)) (*handshakeConn, error) {
	if err := conn.SetDeadline(until); err != nil {
		return nil, err
	}
	return &handshakeConn{Conn: conn, granted: granted, until: until}, nil
}

// clamp replaces a deadline that lies beyond the handshake's end, or none.
func (c *handshakeConn) clamp(t time.Time) time.Time {
	if c.until.IsZero() || (!t.IsZero() && t.Before(c.until)) {
		return t
	}
	return c.until
}

func (c *handshakeConn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.SetDeadline(c.clamp(t))
}

func (c *handshakeConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.SetReadDeadline(c.clamp(t))
}

func (c *handshakeConn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.SetWriteDeadline(c.clamp(t))
}

func (c *handshakeConn) Read(p []byte) (int, error) {
	if !c.received && c.receiving != nil && c.over() {
		c.received = true
		c.receiving()
	}
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.until.IsZero() && n > 0 {
		if bad := c.sniff(p[:n]); bad != nil {
			n, err = 0, bad
		}
	}
	c.note(err)
	return n, err
}

func (c *handshakeConn) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.until.IsZero()
}

func (c *handshakeConn) Write(p []byte) (int, error) {
	if c.wanted.Load() && !c.wide.Load() {
		c.widen()
		c.wide.Store(true)
	}
	n, err := c.Conn.Write(p)
	if err != nil {
		c.mu.Lock()
		c.note(err)
		c.mu.Unlock()
	}
	return n, err
}

// cause returns the error that broke the connection, if there is one.
func (c *handshakeConn) cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// note keeps the first error: later ones are its consequences. c.mu is held.
func (c *handshakeConn) note(err error) {
	if c.err != nil || err == nil {
		return
	}
	c.err = err
	if c.failed != nil && !c.until.IsZero() {
		c.failed(err)
	}
}

// sniff collects the answer. It returns an error if that can be none, because go-zookeeper would make room for as many
// bytes as it says to have, and wait for them. c.mu is held.
func (c *handshakeConn) sniff(b []byte) error {
	c.head = append(c.head, b...)
	if len(c.head) < 4 {
		return nil
	}
	n := int64(binary.BigEndian.Uint32(c.head))
	if n > connectResponseMax {
		return fmt.Errorf("it answers a connect request with %d bytes, as no ZooKeeper server does", n)
	}
	if int64(len(c.head)-4) < n {
		return nil
	}
	if g, err := zkproto.ParseGrant(c.head[4 : 4+n]); err == nil {
		c.granted(g)
	}
	c.until, c.head = time.Time{}, nil
	_ = c.Conn.SetDeadline(time.Time{}) // on a broken connection the next read fails
	return nil
}
