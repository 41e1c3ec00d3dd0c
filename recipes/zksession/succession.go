package zksession

import (
	"context"
	"encoding/binary"
	"io"
	"slices"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
)

// A Succession sees how a znode goes, and whether our own znode was there when it went. It holds for one connection:
// what happens after that is lost is not seen, and then nothing is said. Its methods may be called from any goroutine.
//
// A server carries out transactions in order, and sends the events of a connection in that order. So if our own znode
// was deleted first, the event that says so comes first. The end of a session deletes all its znodes in one
// transaction, in any order; so nothing is said if both are of one session. What a server tells of watches that are set
// again after a reconnect is made up from the present state; it comes on another connection, or is of a znode that has
// gone.
type Succession struct {
	own, ahead string
	frames     *framedConn

	// These are guarded by frames.mu.
	there  bool  // our own znode existed, and was this session's, when its watch was set
	theirs bool  // the one ahead existed, and was another session's
	over   bool  // our own znode has changed or gone since, which uses the watch up
	set    int64 // the last transaction that set the data of the one ahead, as far as an event said so
	left   bool
	freed  bool
}

// Left reports whether the znode ahead was deleted while our own was there. That is final once the caller has the event
// of the deletion.
func (s *Succession) Left() bool {
	if s == nil {
		return false
	}
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	return s.left
}

// Freed is Left if the transaction that deleted the znode ahead also set its data.
func (s *Succession) Freed() bool {
	if s == nil {
		return false
	}
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	return s.freed
}

// End ends the watch for the client. The server keeps its watches until the znodes go.
func (s *Succession) End() {
	if s == nil {
		return
	}
	s.frames.mu.Lock()
	defer s.frames.mu.Unlock()
	for _, p := range []string{s.own, s.ahead} {
		rest := slices.DeleteFunc(s.frames.successions[p], func(other *Succession) bool { return other == s })
		if len(rest) == 0 {
			delete(s.frames.successions, p)
		} else {
			s.frames.successions[p] = rest
		}
	}
}

// Succeed implements [ZooKeeper].
func (c *connection) Succeed(ctx context.Context, own, ahead string, compare bool) (*Succession, error) {
	frames, err := c.served(ctx)
	if err != nil {
		return nil, err
	}
	s, id := &Succession{own: own, ahead: ahead, frames: frames}, c.ID()
	if !frames.begin(s, compare) {
		return nil, nil
	}
	read := func(p string, note func(owner int64)) *direct {
		return newDirect(zkproto.OpGetData, new(zkproto.Encoder).Text(p).Bool(true).B, func(b []byte) error {
			n, err := takeNode(b)
			if err == nil {
				frames.mu.Lock()
				defer frames.mu.Unlock()
				note(n.stat.Owner)
			}
			return err
		})
	}
	if err := c.sendOn(ctx, frames,
		read(own, func(owner int64) { s.there = owner == id }),
		read(ahead, func(owner int64) { s.theirs = owner != id }),
	); err != nil {
		s.End()
		return nil, err
	}
	return s, nil
}

// begin begins a succession, before its watches are set. It refuses one that would compare transactions, if the server
// has not been seen to tell them.
func (c *framedConn) begin(s *Succession, compare bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if compare && !c.tellsTransactions {
		return false
	}
	if c.successions == nil {
		c.successions = map[string][]*Succession{}
	}
	for _, p := range []string{s.own, s.ahead} {
		c.successions[p] = append(c.successions[p], s)
	}
	return true
}

// event takes note of an event, of whose frame the beginning is in head. It returns what has been read of the frame:
// all of it, if somebody wants to know.
//
// Since version 3.9 the header says which transaction the event is of; older servers say -1, as do all servers of what
// they tell after a reconnect.
func (c *framedConn) event(head []byte, length int) ([]byte, error) {
	zxid := int64(binary.BigEndian.Uint64(head[4+4:]))
	c.mu.Lock()
	c.tellsTransactions = c.tellsTransactions || zxid > 0
	wanted := len(c.successions) > 0
	c.mu.Unlock()
	if !wanted {
		return head, nil
	}
	frame := make([]byte, 4+length)
	read := copy(frame, head)
	if _, err := io.ReadFull(c.Conn, frame[read:]); err != nil {
		return nil, err
	}
	body := zkproto.Decoder{B: frame[4+zkproto.ReplyHeader:]}
	kind, _, p := zk.EventType(body.Int32()), body.Int32(), body.Text()
	if body.Err != nil {
		return frame, nil // go-zookeeper says so
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.successions[p] {
		s.note(kind, p, zxid)
	}
	return frame, nil
}

// note takes note of an event of one of the two znodes. frames.mu is held.
func (s *Succession) note(kind zk.EventType, p string, zxid int64) {
	switch {
	case p == s.own:
		s.over = true
	case kind == zk.EventNodeDataChanged:
		s.set = zxid
	case kind == zk.EventNodeDeleted && s.there && s.theirs && !s.over:
		s.left, s.freed = true, zxid > 0 && zxid == s.set
	}
}
