package wire

import (
	"encoding/binary"

	"locklab/recipes/zkproto"
)

// Lag makes the server lag behind, as far as the client can see: every list of children is empty, as it was before
// the first child was created. The server catches up at the client's next sync, or at the next write, which a server
// answers once it has carried it out itself.
func (w *Wire) Lag() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lag = true
}

// lags reports whether the reply to a request should be an old one.
func (w *Wire) lags(op int32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch op {
	case OpSync, OpCreate, OpCreate2, OpDelete, OpSetData, OpMulti, OpCreateContainer:
		w.lag = false
	}
	return w.lag && op == OpChildren
}

// mark records a request whose reply should be an old one.
func (c *conn) mark(xid, op int32) {
	if c.w.lags(op) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.old[xid] = true
	}
}

// aged returns a frame as a server that lags would send it. For a list of children that is the header, no names, and
// the directory's stat at the end. A refusal is not changed.
func (c *conn) aged(frame []byte) []byte {
	const head, stat = 4 + zkproto.ReplyHeader, zkproto.StatLength
	if len(frame) < head+4+stat {
		return frame
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.old[int32(binary.BigEndian.Uint32(frame[4:]))] {
		return frame
	}
	reply := append([]byte(nil), frame[:head]...)
	reply = append(reply, 0, 0, 0, 0)
	reply = append(reply, frame[len(frame)-stat:]...)
	binary.BigEndian.PutUint32(reply, uint32(len(reply)-4))
	return reply
}
