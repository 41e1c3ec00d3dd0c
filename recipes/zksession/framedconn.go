package zksession

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"locklab/recipes/zkproto"
)

// A framedConn knows which answer on a connection belongs to which request. go-zookeeper writes a frame at a time, of
// which the first is the connect request. Between its frames come those of direct requests, whose answers go-zookeeper
// does not see.
type framedConn struct {
	net.Conn
	// answered is called by Read for each answer, before the reader gets it.
	answered func(answer)
	// seen is the newest transaction that earlier connections of the session have seen. Watched returns the one up to
	// which the session has heard of every change that was watched for. See [framedConn.Write].
	seen    int64
	watched func() int64

	mu      sync.Mutex
	begun   bool          // the connect request has been sent
	lost    bool          // go-zookeeper has given the connection up
	pending []sentRequest // those without an answer, oldest first
	// tellsTransactions says that the server has said of an event which transaction it is of.
	tellsTransactions bool
	successions       map[string][]*Succession // those that have not ended, by the path of each of their znodes
	// unproved is how many credentials the server has not accepted yet on this connection; proved is closed when there
	// are none, or the connection is lost.
	unproved int
	proved   chan struct{}

	// These belong to the one goroutine that reads.
	greeted  bool          // the connect request has been answered
	over     error         // set if the connection is of no more use once the reader has the present frame
	patience time.Duration // how long go-zookeeper waits for a frame to begin; 0 = for ever
	buffer   [4 + zkproto.ReplyHeader]byte
	head     []byte // of the frame that is being read, as far as it was read ahead; in the buffer
	rest     int    // how many bytes of the frame are still to be read
}

// A sentRequest is a request that is not answered yet.
type sentRequest struct {
	xid, op int32
	length  int       // of its frame
	at      time.Time // just before it was sent
	direct  *direct   // nil = go-zookeeper's
}

// An answer is what a server says to a request.
type answer struct {
	op     int32     // the request's; 0 = connect
	length int       // of the request's frame in bytes; 0 for a direct request
	code   int32     // 0 = done
	zxid   int64     // the newest transaction that the server had seen; 0 if it does not say
	sent   time.Time // just before the request was sent
}

// codeTooLarge is the code that a reader gets, instead of the server's answer, of an answer that is larger than
// receiveBuffer. go-zookeeper would break the connection, and all requests of the session with it, each time that the
// request is repeated. No server has this code.
const codeTooLarge = -10001

// misplaced reports whether a code says that the connection is the wrong one, and so that the request may have had an
// effect. The real servers close it then. One that does not would be asked again and again.
func misplaced(code int32) bool {
	return code == zkproto.CodeMoved || code == zkproto.CodeLost || code == zkproto.CodeTimedOut
}

// newFramedConn wraps a fresh connection on which the client will send that many credentials.
func newFramedConn(
	conn net.Conn, credentials int, seen int64, watched func() int64, answered func(answer),
) *framedConn {
	c := &framedConn{Conn: conn, answered: answered, seen: seen, watched: watched, unproved: credentials,
		proved: make(chan struct{})}
	c.prove(0)
	return c
}

func (c *framedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	r := sentRequest{at: time.Now(), length: len(p)}
	if c.begun {
		r.xid, r.op = int32(binary.BigEndian.Uint32(p[4:])), int32(binary.BigEndian.Uint32(p[8:]))
	} else if c.seen != 0 {
		// A server that is behind what the session has seen refuses the session, so that its reads do not go back in time.
		// go-zookeeper does not see the answers to direct requests.
		p = bytes.Clone(p)
		binary.BigEndian.PutUint64(p[8:], uint64(c.seen))
	}
	c.begun = true
	c.pending = append(c.pending, r)
	c.mu.Unlock()
	if r.op == zkproto.OpSetWatches {
		// go-zookeeper names the newest transaction that it has seen, perhaps by the answer to a request on this very
		// connection, which was sent first. The watches would miss what happened while the client was disconnected: see
		// [rewatch]. On a busy machine, go-zookeeper also sets the watches of the first connection again, if the session
		// has made some before it gets that far. They have missed nothing.
		p = bytes.Clone(p)
		binary.BigEndian.PutUint64(p[12:], uint64(c.watched()))
	}
	return c.Conn.Write(p)
}

// sent notes that requests are about to be sent. c.mu is held.
func (c *framedConn) sent(requests ...sentRequest) {
	now := time.Now()
	for i := range requests {
		requests[i].at = now
	}
	c.pending = append(c.pending, requests...)
}

// SetReadDeadline is called by go-zookeeper before it reads a frame. The answers to direct requests count as frames,
// although go-zookeeper does not see them.
func (c *framedConn) SetReadDeadline(t time.Time) error {
	c.patience = 0
	if !t.IsZero() {
		c.patience = time.Until(t)
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *framedConn) Read(p []byte) (int, error) {
	if len(c.head) == 0 && c.rest == 0 {
		if c.over != nil {
			return 0, c.over
		}
		if err := c.next(); err != nil {
			return 0, err
		}
	}
	if len(c.head) > 0 {
		n := copy(p, c.head)
		c.head = c.head[n:]
		return n, nil
	}
	n, err := c.Conn.Read(p[:min(len(p), c.rest)])
	c.rest -= n
	return n, err
}

// next reads the beginning of the next frame that is go-zookeeper's.
func (c *framedConn) next() error {
	for {
		d, code, length, err := c.frame()
		if err != nil {
			return err
		}
		if d == nil {
			c.rest = length - (len(c.head) - 4)
			return nil
		}
		c.head = nil
		if err := c.take(d, code, length-zkproto.ReplyHeader); err != nil {
			return err
		}
		if c.over != nil {
			return c.over
		}
		if c.patience > 0 {
			if err := c.Conn.SetReadDeadline(time.Now().Add(c.patience)); err != nil {
				return err
			}
		}
	}
}

// frame reads the beginning of a frame, which is then in c.head, and returns the length of the whole without its first
// four bytes. If it answers a direct request, frame returns that and the server's code.
func (c *framedConn) frame() (d *direct, code int32, length int, err error) {
	head := c.buffer[:4]
	if _, err := io.ReadFull(c.Conn, head); err != nil {
		return nil, 0, 0, err
	}
	length = int(binary.BigEndian.Uint32(head))
	if !c.greeted {
		c.greeted = true
		c.note(0, 0, 0) // the connect request is the first that was sent, with the zero xid
	} else if length >= zkproto.ReplyHeader {
		head = head[:4+zkproto.ReplyHeader]
		if _, err := io.ReadFull(c.Conn, head[4:]); err != nil {
			return nil, 0, 0, err
		}
		code = int32(binary.BigEndian.Uint32(head[4+4+8:]))
		if length > receiveBuffer {
			if _, err := io.CopyN(io.Discard, c.Conn, int64(length-zkproto.ReplyHeader)); err != nil {
				return nil, 0, 0, err
			}
			code, length = codeTooLarge, zkproto.ReplyHeader
			binary.BigEndian.PutUint32(head, zkproto.ReplyHeader)
			binary.BigEndian.PutUint32(head[4+4+8:], uint32(code))
		}
		if misplaced(code) {
			c.over = fmt.Errorf("the server answered with code %d", code)
		}
		if xid := int32(binary.BigEndian.Uint32(head[4:])); xid != zkproto.EventXid {
			d = c.note(xid, code, int64(binary.BigEndian.Uint64(head[4+4:])))
		} else if head, err = c.event(head, length); err != nil {
			return nil, 0, 0, err
		}
	}
	c.head = head
	return d, code, length, nil
}

// note reports an answer, and returns its request if that is direct. A server answers in order, but for a few kinds of
// requests; so the request is found soon.
func (c *framedConn) note(xid, code int32, zxid int64) *direct {
	c.mu.Lock()
	for i, r := range c.pending {
		if r.xid == xid {
			c.pending = slices.Delete(c.pending, i, i+1) // and what it refers to, which may be a long list
			if r.op == zkproto.OpAuth && code == 0 {
				c.prove(1)
			}
			c.mu.Unlock()
			c.answered(answer{op: r.op, length: r.length, code: code, zxid: zxid, sent: r.at})
			return r.direct
		}
	}
	c.mu.Unlock()
	return nil
}

// After a reconnect, go-zookeeper sets all watches again, by requests that name a transaction. A server fires at once
// each watch whose znode has changed since, and sets the others. So the transaction must be one up to which the client
// has heard of every change that it watched for.
//
// That is not the newest transaction that an answer told of. On a new connection, the answer to another request may
// come before the watches are set again, and tell of a change that nobody hears of until then. If the connection breaks
// in between, and the next one named the transaction of that answer, its server would not fire the watch. So an answer
// counts only on a connection on which all watches are set. Java's client needs no such rule, because it sends nothing
// else before it has set its watches.
//
// An older transaction than necessary does no harm: a watch fires although nothing has changed, and its owner looks.
type rewatch struct {
	// set is how many watches go-zookeeper may have, counted from before the request to the event.
	set int
	// longest is the length of the longest path of a watch.
	longest int
	// inForce says that the present connection has all watches.
	inForce bool
	// heard is the newest transaction up to which no watch has missed a change.
	heard int64
}

// rewatchLimit is the length in bytes of the paths from which on go-zookeeper divides the watches among several
// requests. It sends each when the one before is answered.
const rewatchLimit = 128 << 10

// add counts a watch that is about to be set.
func (w *rewatch) add(path string) {
	w.set++
	w.longest = max(w.longest, len(path))
}

// remove uncounts a watch that was not set, or is over.
func (w *rewatch) remove() { w.set-- }

// dialled begins a connection.
func (w *rewatch) dialled() { w.inForce = false }

// connected notes that the session is connected. Without watches there is nothing to set again.
func (w *rewatch) connected() { w.inForce = w.inForce || w.set == 0 }

// answered notes an answer. A request that sets watches again may be followed by another unless it had room for the
// longest path. If the server refuses one, all watches are over.
func (w *rewatch) answered(a answer) {
	if a.op == zkproto.OpSetWatches && a.length+4+w.longest <= rewatchLimit {
		w.inForce = true
	}
	if w.inForce {
		w.heard = max(w.heard, a.zxid)
	}
}
