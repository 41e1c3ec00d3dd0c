package broken

import (
	"context"
	"encoding/binary"
	"net"
)

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
