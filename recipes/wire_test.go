package recipes

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// ZooKeeper's codes of the requests that the tests look at.
const (
	opCreate          = 1
	opDelete          = 2
	opGetData         = 4
	opSync            = 9
	opPing            = 11
	opChildren        = 12
	opMulti           = 14
	opCreateContainer = 19
	opSetWatches      = 101
	opClose           = -11
)

// A wire is a [SessionConfig] Dial that understands ZooKeeper's frames: it counts
// requests, loses one or its reply by breaking the connection, and remembers what is needed to
// kill the session.
type wire struct {
	mu      sync.Mutex
	counts  map[int32]int
	dials   int
	cutOp   int32 // break the connection before the cutN-th request of this kind is sent
	cutN    int
	loseOp  int32 // break it before the reply to the loseN-th is read
	loseN   int
	losses  int        // done so far
	onLoss  func()     // if set, called at each
	random  *rand.Rand // if set, breaks a connection at every thirtieth request or so
	granted handshake
	mute    map[string]bool // addresses that accept and never answer
	refuse  bool
}

func newWire() *wire { return &wire{counts: map[int32]int{}, mute: map[string]bool{}} }

var errCut = errors.New("cut by the test")

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.mu.Lock()
	w.dials++
	mute, refuse := w.mute[address], w.refuse
	w.mu.Unlock()
	if refuse {
		return nil, errCut
	}
	if mute {
		client, server := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, server) }() // ends when the client closes
		return client, nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &wireConn{Conn: conn, w: w, lost: map[int32]bool{}}, nil
}

// lose arms one fault.
func (w *wire) lose(op int32, n int) { w.arm(&w.loseOp, &w.loseN, op, n) }
func (w *wire) cut(op int32, n int)  { w.arm(&w.cutOp, &w.cutN, op, n) }

func (w *wire) arm(op *int32, left *int, o int32, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*op, *left = o, n
}

// requests returns how many requests were sent, without pings, and by kind.
func (w *wire) requests() (all int, by map[int32]int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	by = map[int32]int{}
	for op, n := range w.counts {
		if op != opPing {
			all += n
			by[op] = n
		}
	}
	return all, by
}

func (w *wire) lostSoFar() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.losses
}

// kill ends the session at the service, as if by an administrator: a second
// connection takes it over and closes it. The client may take it back in between; then
// once more.
func (w *wire) kill(t *testing.T, server string) {
	t.Helper()
	w.mu.Lock()
	h := w.granted
	w.mu.Unlock()
	eventually(t, "the session is killed", func() bool { return h.closeAt(t, server) })
}

func (h handshake) closeAt(t *testing.T, server string) bool {
	conn, err := net.DialTimeout("tcp", server, patience)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	connect := make([]byte, 4+4+8+4+8+4, 64)
	binary.BigEndian.PutUint32(connect[16:], uint32(h.timeout.Milliseconds()))
	binary.BigEndian.PutUint64(connect[20:], uint64(h.session))
	binary.BigEndian.PutUint32(connect[28:], uint32(len(h.password)))
	connect = append(connect, h.password...)
	binary.BigEndian.PutUint32(connect, uint32(len(connect)-4))
	if _, err := conn.Write(connect); err != nil {
		return false
	}
	reply, err := readFrame(conn)
	if err != nil {
		return false
	}
	if got, ok := parseHandshake(reply[4:]); !ok || got.session != h.session {
		return true // there is no such session any more
	}
	code := int32(opClose)
	closing := make([]byte, 12)
	binary.BigEndian.PutUint32(closing, 8)
	binary.BigEndian.PutUint32(closing[4:], 1)
	binary.BigEndian.PutUint32(closing[8:], uint32(code))
	if _, err := conn.Write(closing); err != nil {
		return false
	}
	reply, err = readFrame(conn)
	return err == nil && binary.BigEndian.Uint32(reply[16:]) == 0
}

// readFrame reads one frame, length included.
func readFrame(r io.Reader) ([]byte, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	frame := append(head, make([]byte, binary.BigEndian.Uint32(head))...)
	_, err := io.ReadFull(r, frame[4:])
	return frame, err
}

// A wireConn is one connection of a wire. go-zookeeper writes a frame at a time.
type wireConn struct {
	net.Conn
	w       *wire
	begun   bool   // the connect request has been sent
	greeted bool   // and answered
	rest    []byte // read, but not yet by the client

	mu   sync.Mutex
	lost map[int32]bool // xids whose reply must not arrive
}

func (c *wireConn) Write(p []byte) (int, error) {
	if !c.begun {
		c.begun = true
		return c.Conn.Write(p)
	}
	xid, op := int32(binary.BigEndian.Uint32(p[4:])), int32(binary.BigEndian.Uint32(p[8:]))
	c.w.mu.Lock()
	hit := func(want int32, left *int) bool {
		if op != want || *left == 0 {
			return false
		}
		*left--
		if *left > 0 {
			return false
		}
		c.w.losses++
		if c.w.onLoss != nil {
			c.w.onLoss()
		}
		return true
	}
	cut, lose := hit(c.w.cutOp, &c.w.cutN), hit(c.w.loseOp, &c.w.loseN)
	if c.w.random != nil && op != opPing && op != opSetWatches && op != opClose {
		switch c.w.random.IntN(60) {
		case 0:
			cut = true
			c.w.losses++
		case 1:
			lose = true
			c.w.losses++
		}
	}
	if !cut {
		c.w.counts[op]++
	}
	c.w.mu.Unlock()
	if cut {
		_ = c.Conn.Close()
		return 0, errCut
	}
	if lose {
		c.mu.Lock()
		c.lost[xid] = true
		c.mu.Unlock()
	}
	return c.Conn.Write(p)
}

func (c *wireConn) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		frame, err := readFrame(c.Conn)
		if err != nil {
			return 0, err
		}
		if !c.greeted {
			c.greeted = true
			if h, ok := parseHandshake(frame[4:]); ok && h.session != 0 {
				c.w.mu.Lock()
				c.w.granted = h
				c.w.mu.Unlock()
			}
		} else if xid := int32(binary.BigEndian.Uint32(frame[4:])); c.isLost(xid) {
			_ = c.Conn.Close()
			return 0, errCut
		}
		c.rest = frame
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *wireConn) isLost(xid int32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost[xid]
}
