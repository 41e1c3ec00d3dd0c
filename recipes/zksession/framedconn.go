package zksession

import (
	"encoding/binary"
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

	mu      sync.Mutex
	begun   bool          // the connect request has been sent
	pending []sentRequest // those without an answer, oldest first

	// These belong to the one goroutine that reads.
	greeted bool   // the connect request has been answered
	head    []byte // of the frame that is being read, as far as it was read ahead
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
	sent time.Time // just before the request was sent
}

// replyHeader is the length of a reply's header: the request's xid, the zxid, the code.
const replyHeader = 4 + 8 + 4

func (c *framedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	r := sentRequest{at: time.Now()}
	if c.begun {
		r.xid, r.op = int32(binary.BigEndian.Uint32(p[4:])), int32(binary.BigEndian.Uint32(p[8:]))
	}
	c.begun = true
	c.pending = append(c.pending, r)
	c.mu.Unlock()
	return c.Conn.Write(p)
}

func (c *framedConn) Read(p []byte) (int, error) {
	if len(c.head) == 0 && c.rest == 0 {
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
	head := make([]byte, 4, 4+replyHeader)
	if _, err := io.ReadFull(c.Conn, head); err != nil {
		return err
	}
	length := int(binary.BigEndian.Uint32(head))
	if !c.greeted {
		c.greeted = true
		c.note(0, 0) // the connect request is the first that was sent, with the zero xid
	} else if length >= replyHeader {
		head = head[:4+replyHeader]
		if _, err := io.ReadFull(c.Conn, head[4:]); err != nil {
			return err
		}
		c.note(int32(binary.BigEndian.Uint32(head[4:])), int32(binary.BigEndian.Uint32(head[4+4+8:])))
	}
	c.head, c.rest = head, length-(len(head)-4)
	return nil
}

// note reports an answer. A server answers in order, but for a few kinds of requests; so the request is found soon.
func (c *framedConn) note(xid, code int32) {
	c.mu.Lock()
	for i, r := range c.pending {
		if r.xid == xid {
			c.pending = append(c.pending[:i], c.pending[i+1:]...)
			c.mu.Unlock()
			c.answered(answer{op: r.op, code: code, sent: r.at})
			return
		}
	}
	c.mu.Unlock() // the event of a watch
}
