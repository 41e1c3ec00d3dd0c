package wire

import (
	"encoding/binary"
	"net"
	"sync"
	"time"

	"locklab/recipes/zkproto"
)

// A conn is one connection of a Wire. Its client writes whole frames, one or several at a time.
type conn struct {
	net.Conn
	w       *Wire
	begun   bool   // the connect request has been sent
	greeted bool   // and answered
	rest    []byte // read, but not yet by the client

	mu     sync.Mutex
	struck map[int32]*strike // the strikes that wait for a reply, by xid
	silent bool              // answers are no longer delivered
	sunk   bool              // requests are no longer delivered
	old    map[int32]bool    // xids whose reply comes from a server that lags

	unanswered []time.Time // when each request was sent that has no answer yet; see Silence
}

func (c *conn) Write(p []byte) (int, error) {
	if !c.begun {
		c.begun = true
		return c.send(c.w.connecting(p))
	}
	for at := 0; at < len(p); {
		end := at + 4 + int(binary.BigEndian.Uint32(p[at:]))
		if n, err := c.writeFrame(p[at:end]); err != nil {
			return at + n, err
		}
		at = end
	}
	return len(p), nil
}

// writeFrame writes one frame, which is a request.
func (c *conn) writeFrame(p []byte) (int, error) {
	xid, op := int32(binary.BigEndian.Uint32(p[4:])), int32(binary.BigEndian.Uint32(p[8:]))
	c.mu.Lock()
	sunk := c.sunk
	c.mu.Unlock()
	if sunk {
		return len(p), nil
	}
	c.mark(xid, op)
	s := c.w.sent(op)
	if s == nil {
		return c.send(p)
	}
	c.mu.Lock()
	switch s.fault {
	case ReplyLost, Late:
		c.struck[xid] = s // and takes effect when the reply arrives
	case Mute:
		c.silent = true
	case BlackHole:
		c.silent, c.sunk = true, true
	}
	c.mu.Unlock()
	switch s.fault {
	case RequestLost:
		c.w.struckNow(s)
		_ = c.Conn.Close()
		return 0, ErrCut
	case BlackHole:
		c.w.struckNow(s)
		return len(p), nil
	}
	n, err := c.send(p)
	if s.fault == Mute {
		c.w.struckNow(s)
	}
	return n, err
}

func (c *conn) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		frame, err := readFrame(c.Conn)
		if err != nil {
			return 0, err
		}
		if !c.greeted || int32(binary.BigEndian.Uint32(frame[4:])) != zkproto.EventXid {
			c.answer()
		}
		if !c.greeted {
			c.greeted = true
			if g, err := zkproto.ParseGrant(frame[4:]); err == nil && g.Session != 0 {
				if dead := c.w.grant(g, c); dead {
					_ = c.Conn.Close()
					return 0, ErrCut
				}
			}
		} else if s, silent := c.fate(int32(binary.BigEndian.Uint32(frame[4:]))); silent {
			continue
		} else if s != nil {
			c.w.struckNow(s)
			if s.fault != Late {
				_ = c.Conn.Close()
				return 0, ErrCut
			}
		}
		c.rest = c.aged(frame)
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// grant records that a server granted a session on a connection, and reports whether that session has been killed.
func (w *Wire) grant(g zkproto.Grant, on *conn) (dead bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.granted, w.greeted = g, on
	return g.Session != 0 && g.Session == w.killed
}

// fate returns what happens to the reply to a request: the strike that waits for it, or silence.
func (c *conn) fate(xid int32) (s *strike, silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s = c.struck[xid]
	delete(c.struck, xid)
	return s, c.silent
}
