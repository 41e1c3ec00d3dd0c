package zksession

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A framedConn knows which answer on a connection belongs to which request. go-zookeeper writes a frame at a time, of
// which the first is the connect request.
type framedConn struct {
	net.Conn
	// answered is called by Read for each answer, before the reader gets it.
	answered func(answer)
	// seen is the newest transaction that earlier connections of the session have seen; see [framedConn.Write].
	seen int64

	mu      sync.Mutex
	begun   bool          // the connect request has been sent
	pending []sentRequest // those without an answer, oldest first

	// These belong to the one goroutine that reads.
	greeted bool  // the connect request has been answered
	over    error // set if the connection is of no more use once the reader has the present frame
	buffer  [4 + replyHeader]byte
	head    []byte // of the frame that is being read, as far as it was read ahead; in the buffer
	rest    int    // how many bytes of the frame are still to be read
}

// A sentRequest is a request that is not answered yet.
type sentRequest struct {
	xid, op int32
	at      time.Time // just before it was sent
}

// An answer is what a server says to a request.
type answer struct {
	op   int32     // the request's; 0 = connect
	code int32     // 0 = done
	zxid int64     // the newest transaction that the server had seen; 0 if it does not say
	sent time.Time // just before the request was sent
}

// codeTooLarge is the code that a reader gets, instead of the server's answer, of an answer that is larger than
// receiveBuffer. go-zookeeper would break the connection, and all requests of the session with it, each time that the
// request is repeated. No server has this code.
const codeTooLarge = -10001

// misplaced reports whether a code says that the connection is the wrong one. The real servers close it then. One that
// does not would be asked again and again.
func misplaced(code int32) bool { return code == codeMoved || code == codeLost || code == codeTimedOut }

// These codes mean that the request may have had an effect.
const (
	codeLost     = -4
	codeTimedOut = -7
	codeMoved    = -118
)

// replyHeader is the length of a reply's header: the request's xid, the zxid, the code.
const replyHeader = 4 + 8 + 4

func (c *framedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	r := sentRequest{at: time.Now()}
	if c.begun {
		r.xid, r.op = int32(binary.BigEndian.Uint32(p[4:])), int32(binary.BigEndian.Uint32(p[8:]))
	}
	c.begun = true
	if r.op == opSetWatches {
		// A watch that is set again fires at once if its znode has changed since the transaction that this request names.
		// go-zookeeper names the newest that it has seen, perhaps by the answer to a request on this very connection, which
		// was sent first; the watch would then miss what happened while the client was disconnected.
		p = bytes.Clone(p)
		binary.BigEndian.PutUint64(p[12:], uint64(c.seen))
	}
	c.pending = append(c.pending, r)
	c.mu.Unlock()
	return c.Conn.Write(p)
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

// next reads the beginning of a frame.
func (c *framedConn) next() error {
	head := c.buffer[:4]
	if _, err := io.ReadFull(c.Conn, head); err != nil {
		return err
	}
	length := int(binary.BigEndian.Uint32(head))
	if !c.greeted {
		c.greeted = true
		c.note(0, 0, 0) // the connect request is the first that was sent, with the zero xid
	} else if length >= replyHeader {
		head = head[:4+replyHeader]
		if _, err := io.ReadFull(c.Conn, head[4:]); err != nil {
			return err
		}
		code := int32(binary.BigEndian.Uint32(head[4+4+8:]))
		if length > receiveBuffer {
			if _, err := io.CopyN(io.Discard, c.Conn, int64(length-replyHeader)); err != nil {
				return err
			}
			code, length = codeTooLarge, replyHeader
			binary.BigEndian.PutUint32(head, replyHeader)
			binary.BigEndian.PutUint32(head[4+4+8:], uint32(code))
		}
		if misplaced(code) {
			c.over = fmt.Errorf("the server answered with code %d", code)
		}
		c.note(int32(binary.BigEndian.Uint32(head[4:])), code, int64(binary.BigEndian.Uint64(head[4+4:])))
	}
	c.head, c.rest = head, length-(len(head)-4)
	return nil
}

// note reports an answer. A server answers in order, but for a few kinds of requests; so the request is found soon.
func (c *framedConn) note(xid, code int32, zxid int64) {
	c.mu.Lock()
	for i, r := range c.pending {
		if r.xid == xid {
			c.pending = append(c.pending[:i], c.pending[i+1:]...)
			c.mu.Unlock()
			c.answered(answer{op: r.op, code: code, zxid: zxid, sent: r.at})
			return
		}
	}
	c.mu.Unlock() // the event of a watch
}
