package zktest

import (
	"bytes"
	"crypto/subtle"
	"errors"
	"io"
	"slices"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
)

// This file has the server's end of a [wire].

// deliver gives a frame to the client. All that the server says at one instant travels as one burst, of which the
// client reads one frame after the other.
func (c *wire) deliver(b []byte) {
	if len(c.answers) == 0 {
		c.e.talking = append(c.e.talking, c)
	}
	c.answers = append(c.answers, b)
}

// flush sends what the server has said.
func (c *wire) flush() {
	burst := c.answers
	c.answers = nil
	if len(burst) == 0 {
		return
	}
	c.down.send(func() {
		c.read(burst[0])
		for i, frame := range burst[1:] {
			c.e.w.Reach(c.e.w.Now()+time.Duration(i+1), c.client, func() { c.client.Do(func() { c.read(frame) }) })
		}
	})
	c.down.last += time.Duration(len(burst))
}

// flush sends what servers have said to their clients.
func (e *Ensemble) flush() {
	for _, c := range e.talking {
		c.flush()
	}
	e.talking = e.talking[:0]
}

// end is the server's end of the connection's end.
func (c *wire) end() {
	if !c.open {
		return
	}
	c.open = false
	c.p.wires = slices.DeleteFunc(c.p.wires, func(o *wire) bool { return o == c })
	if l := c.link; l != nil {
		l.forget()
		if l.session.link == l {
			l.session.link = nil
		}
	}
}

// shut ends the connection at the server, which tells the client.
func (c *wire) shut() {
	if c.open {
		c.end()
		c.flush()
		c.down.send(func() { c.snap(io.EOF) })
	}
}

// reset breaks both ends at once.
func (c *wire) reset() {
	c.cut = true
	c.end()
	c.e.w.After(0, c.client, func() { c.snap(syscall.ECONNRESET) })
}

// received is the server's end of a burst.
func (c *wire) received(burst []byte) {
	if !c.open {
		return
	}
	c.rest = append(c.rest, burst...)
	r := bytes.NewReader(c.rest)
	for c.open && r.Len() >= 4 {
		at := c.rest[len(c.rest)-r.Len():]
		body, err := zkproto.ReadFrame(r, maxFrame)
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			c.rest = at
			return
		}
		if err != nil {
			c.shut()
			return
		}
		c.serve(body)
	}
	c.rest = slices.Clone(c.rest[len(c.rest)-r.Len():])
}

// serve is the server's end of one request.
func (c *wire) serve(body []byte) {
	if !c.greeted {
		c.greeted = true
		h, err := zkproto.ParseHello(body)
		if err != nil || !c.p.serves() || h.Seen > c.p.m.zxid() {
			c.shut()
			return
		}
		c.ask(func(l *peer) { l.greet(c, h) })
		return
	}
	if c.link == nil { // a client sends nothing before it is greeted
		c.shut()
		return
	}
	xid, r, err := decodeRequest(body, c.link.session.id)
	if err != nil {
		c.shut()
		return
	}
	c.touch()
	e := &entry{xid: xid, r: r}
	c.entries = append(c.entries, e)
	switch r.op {
	case OpCreate, OpCreate2, OpCreateContainer, OpDelete, OpSetData, OpSetACL, OpMulti, OpCheck, OpClose:
		e.write = true
		c.ask(func(l *peer) { l.request(&origin{wire: c, entry: e, cxid: xid}) })
	case OpSync:
		e.write = true
		c.ask(func(l *peer) { l.sync(c, e) })
	}
	c.advance()
}

// ask lets the leader do something for the connection's server. A server that has lost its leader asks in vain.
func (c *wire) ask(do func(leader *peer)) {
	p, l := c.p, c.p.follows
	if p.role == leading {
		if p.e.leader == p {
			do(p)
		}
		return
	}
	term := p.term
	p.to.send(func() {
		if p.term == term && l == p.e.leader && l.role == leading {
			do(l)
		}
	})
}

// tell lets the leader answer the connection's server.
func (c *wire) tell(do func()) {
	p, term := c.p, c.p.term
	if p.role == leading {
		do()
		return
	}
	p.from.send(func() {
		if p.term == term && c.open {
			do()
		}
	})
}

// greet gives a connection its session, at the leader.
func (p *peer) greet(c *wire, h zkproto.Hello) {
	if h.Session == 0 {
		p.openSession(c, h.Timeout)
		return
	}
	ss := p.e.svc.sessions[h.Session]
	if ss == nil || ss.over || subtle.ConstantTimeCompare(ss.password, h.Password) == 0 {
		c.tell(func() {
			c.deliver(zkproto.Grant{}.Frame())
			c.shut()
		})
		return
	}
	ss.owner = c
	p.touch(ss.id)
	c.tell(func() { c.begin(ss) })
}

func (c *wire) begin(ss *session) {
	if !c.open {
		return
	}
	// A connection to another server that it may still have is noticed when it is used; one to this server ends.
	for _, old := range slices.Clone(c.p.wires) {
		if old.link != nil && old.link.session == ss {
			old.shut()
		}
	}
	c.link = &link{session: ss, server: c.p.m, client: c, done: make(chan struct{})}
	ss.link = c.link
	c.touch()
	if next := c.e.breaks[c.client]; len(next) > 0 {
		c.frames, c.e.breaks[c.client] = next[0], next[1:]
	}
	c.deliver(zkproto.Grant{Session: ss.id, Timeout: ss.timeout, Password: ss.password}.Frame())
}

// touch notes that the server has heard of the session.
func (c *wire) touch() {
	switch id := c.link.session.id; {
	case c.p.role == leading && c.p.e.leader == c.p:
		c.p.touch(id)
	case c.p.role == following:
		c.p.touched[id] = struct{}{}
	}
}

// sync answers a sync, at the leader, once all that it has proposed is committed.
func (p *peer) sync(c *wire, e *entry) {
	answer := func() {
		c.tell(func() {
			e.done, e.reply = true, reply{path: e.r.path, zxid: c.p.m.zxid()}
			c.advance()
		})
	}
	if p.applied == len(p.log) {
		answer()
		return
	}
	p.syncs = append(p.syncs, pendingSync{len(p.log), answer})
}

// done tells the connection, whose server has carried out the transaction that it asked for.
func (c *wire) done(q *proposal) {
	switch {
	case !c.open:
	case q.opened != nil:
		c.begin(q.opened)
	case q.from.entry != nil:
		q.from.entry.done, q.from.entry.reply = true, q.from.reply
		c.advance()
	}
}

// advance answers, in order, the requests that can be answered.
func (c *wire) advance() {
	for c.open && len(c.entries) > 0 {
		e := c.entries[0]
		if e.write && !e.done {
			return
		}
		c.entries = c.entries[1:]
		if !e.write {
			e.reply = c.p.m.read(c.link, &e.r)
			e.reply.zxid = c.p.m.zxid()
		}
		c.deliver(encodeReply(e.xid, e.r.op, e.reply))
		if e.r.op == OpClose || misplaced(e.reply.code) {
			c.shut()
		}
	}
}

// misplaced reports whether a code says that the connection is of no more use.
func misplaced(code int32) bool {
	return code == zkproto.CodeMoved || code == zkproto.CodeSessionExpired || code == zkproto.CodeAuthFailed
}

// notify implements client.
func (c *wire) notify(kind zk.EventType, path string, zxid int64) {
	c.deliver(encodeEvent(kind, path, zxid))
}

// broken implements client.
func (c *wire) broken(bool) { c.shut() }
