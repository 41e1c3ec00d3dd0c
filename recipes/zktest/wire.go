package zktest

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
	"locklab/recipes/zktest/sim"
)

// A wire is a connection of a client with a server of an ensemble: a [net.Conn] for the client's goroutines, and the
// server's end of it, which the kernel works.
type wire struct {
	e        *Ensemble
	client   *sim.Host
	p        *peer
	up, down *lane // to the server and back
	outlet   *sim.Outlet

	mu       sync.Mutex
	changed  sync.Cond
	in, out  []byte
	closed   bool // by the client
	failure  error
	deadline time.Time
	alarm    *sim.Timer

	// These belong to the server's end.
	open    bool
	said    bool // that the client has closed it
	greeted bool
	rest    []byte // of a frame that has not come whole
	link    *link
	entries []*entry
	answers [][]byte // for the client, which are still to be sent
}

// An entry is a request that is not answered yet.
type entry struct {
	xid   int32
	r     request
	write bool
	done  bool
	reply reply
}

// Dial connects a client on a host to a server by its address, as the Dial function of [zksession.Config].
func (e *Ensemble) Dial(client *sim.Host) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		i := slices.IndexFunc(e.peers, func(p *peer) bool { return p.m.address == address })
		if i < 0 {
			return nil, fmt.Errorf("dial %s: no such server", address)
		}
		c := &wire{e: e, client: client, p: e.peers[i]}
		c.changed.L = &c.mu
		c.up = &lane{e: e, from: client, to: c.p.host}
		c.down = &lane{e: e, from: c.p.host, to: client}
		answer := make(chan error, 1)
		dialled := client.Outlet(func() { c.call(answer) })
		dialled.Filled()
		select {
		case err := <-answer:
			if err != nil {
				return nil, fmt.Errorf("dial %s: %w", address, err)
			}
			c.outlet = client.Outlet(c.collect)
			return c, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("dial %s: %w", address, ctx.Err())
		}
	}
}

// call asks a server's machine for a connection. It answers even while the server is paused, if its process runs.
func (c *wire) call(answer chan<- error) {
	machine := lane{e: c.e, from: c.client, to: c.p.host, awake: true}
	machine.send(func() {
		if c.p.role == down {
			c.down.send(func() { answer <- syscall.ECONNREFUSED })
			return
		}
		c.open = true
		c.p.wires = append(c.p.wires, c)
		c.down.send(func() { answer <- nil })
	})
}

// Write implements [net.Conn].
func (c *wire) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, net.ErrClosed
	}
	if c.failure != nil {
		return 0, syscall.EPIPE
	}
	c.out = append(c.out, b...)
	c.outlet.Filled()
	return len(b), nil
}

// Read implements [net.Conn].
func (c *wire) Read(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, net.ErrClosed
		case len(c.in) > 0:
			n := copy(b, c.in)
			c.in = c.in[n:]
			return n, nil
		case c.failure != nil:
			return 0, c.failure
		case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
			return 0, os.ErrDeadlineExceeded
		}
		c.changed.Wait()
	}
}

// Close implements [net.Conn].
func (c *wire) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		c.changed.Broadcast()
		if c.alarm != nil {
			c.alarm.Stop()
		}
		c.outlet.Filled()
	}
	return nil
}

// SetReadDeadline implements [net.Conn]. The client sets it again and again, so that the timer runs on.
func (c *wire) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if !t.IsZero() && c.alarm == nil {
		c.alarm = c.client.AfterFunc(time.Until(t), c.late)
	} else if !t.IsZero() && !time.Now().Before(t) {
		c.changed.Broadcast()
	}
	return nil
}

// late wakes the reader if its deadline has passed, and otherwise waits for it.
func (c *wire) late() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.alarm = nil
	if c.deadline.IsZero() || c.closed {
		return
	}
	if left := time.Until(c.deadline); left > 0 {
		c.alarm = c.client.AfterFunc(left, c.late)
		return
	}
	c.changed.Broadcast()
}

// SetDeadline implements [net.Conn].
func (c *wire) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline implements [net.Conn]: a write never waits.
func (c *wire) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements [net.Conn].
func (c *wire) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr implements [net.Conn].
func (c *wire) RemoteAddr() net.Addr { return &net.TCPAddr{} }

// collect sends what the client has written, as one burst, and the end if it has closed the connection.
func (c *wire) collect() {
	c.mu.Lock()
	burst, closed := c.out, c.closed && !c.said
	c.out = nil
	c.mu.Unlock()
	if len(burst) > 0 {
		c.up.send(func() { c.received(burst) })
	}
	if closed {
		c.said = true
		c.up.send(c.end)
	}
}

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

// read lets the client's goroutines read a frame.
func (c *wire) read(frame []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = append(c.in, frame...)
	c.changed.Broadcast()
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
	c.end()
	c.e.w.After(0, c.client, func() { c.snap(syscall.ECONNRESET) })
}

// snap breaks the client's end.
func (c *wire) snap(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		c.failure = err
		c.changed.Broadcast()
	}
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

// begin connects a session.
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
func (c *wire) notify(kind zk.EventType, path string) { c.deliver(encodeEvent(kind, path)) }

// broken implements client.
func (c *wire) broken(bool) { c.shut() }
