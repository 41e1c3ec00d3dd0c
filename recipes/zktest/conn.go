package zktest

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/recipes/zkproto"
)

// A conn is a connection that speaks ZooKeeper's protocol. One goroutine reads and executes requests, in order; another
// writes replies and events, in the order in which they arose.
type conn struct {
	svc    *Service
	server *server
	net    net.Conn

	mu     sync.Mutex // may be taken while svc.mu is held, and not the other way round
	queue  []frame
	wake   chan struct{} // capacity 1
	done   chan struct{} // closed when the connection is broken
	closed bool
}

// A frame is to be written, after a delay.
type frame struct {
	bytes []byte
	delay time.Duration
	last  bool // the connection ends after it
}

func newConn(s *Service, m *server, with net.Conn) *conn {
	return &conn{svc: s, server: m, net: with, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// converse serves the connection until it is broken.
func (c *conn) converse() {
	var writer sync.WaitGroup
	writer.Go(c.write)
	defer writer.Wait()
	defer c.close()
	first, err := readFrame(c.net)
	if word, ok := err.(fourLetterWord); ok {
		c.push(frame{bytes: []byte(c.svc.answer(c.server, word)), last: true})
		<-c.done // the writer closes the connection
		return
	}
	if err != nil {
		return
	}
	h, err := zkproto.ParseHello(first)
	if err != nil {
		return
	}
	l, refused := c.greet(h)
	if refused {
		c.push(frame{bytes: zkproto.Grant{}.Frame(), last: true})
		<-c.done
	}
	if l == nil {
		return
	}
	defer func() {
		c.svc.mu.Lock()
		defer c.svc.mu.Unlock()
		l.cut()
	}()
	for {
		body, err := readFrame(c.net)
		if err != nil {
			return
		}
		xid, r, err := decodeRequest(body, l.session.id)
		if err != nil || !c.serve(l, xid, &r) {
			return
		}
	}
}

// greet answers the first request, unless the session that it asks for is over and so refused. It returns nil if the
// connection is to be closed.
func (c *conn) greet(h zkproto.Hello) (_ *link, refused bool) {
	s := c.svc
	s.mu.Lock()
	defer s.mu.Unlock()
	// A client that has seen more than the server is sent away.
	if s.closed || c.server.stopped || h.Seen > c.server.zxid() {
		return nil, false
	}
	var ss *session
	if h.Session == 0 || s.cfg.ForgetsSessions {
		ss = s.open(c.server, h.Timeout)
	} else if ss = s.sessions[h.Session]; ss != nil && ss.cutOff {
		return nil, false
	} else if ss = s.find(h.Session, h.Password); ss == nil {
		return nil, true
	}
	c.push(frame{bytes: zkproto.Grant{Session: ss.id, Timeout: ss.timeout, Password: ss.password}.Frame()})
	return s.connect(ss, c.server, c), false
}

// serve executes one request, subject to the faults, and reports whether the connection goes on.
func (c *conn) serve(l *link, xid int32, r *request) bool {
	s := c.svc
	s.mu.Lock()
	l.session.heard = s.cfg.Clock.Now()
	s.mu.Unlock()
	f := s.fate(l.session.id, r, nil)
	s.wait(f.Delay, c.done)
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.session.link != l {
		return false // the session has ended, or has another connection
	}
	switch f.Outcome {
	case RequestLost:
		return false
	case ExpireBefore:
		s.end(l.session)
		return false
	}
	if r.op == OpClose {
		l.session.link = nil // so that its end does not close the connection before the reply
	}
	a := s.execute(l, r)
	if r.op == OpClose {
		l.forget() // after its own watches have told of the session's znodes
	}
	switch f.Outcome {
	case ReplyLost:
		return false
	case ExpireAfter:
		s.end(l.session)
		return false
	}
	last := r.op == OpClose || a.code == zkproto.CodeAuthFailed
	c.push(frame{bytes: encodeReply(xid, r.op, a), delay: f.ReplyDelay, last: last})
	return true
}

// push queues a frame. It may be called with svc.mu held.
func (c *conn) push(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, f)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write writes what is queued until the connection is broken.
func (c *conn) write() {
	defer c.close()
	for {
		c.mu.Lock()
		batch := c.queue
		c.queue = nil
		c.mu.Unlock()
		for _, f := range batch {
			c.svc.wait(f.delay, c.done)
			if _, err := c.net.Write(f.bytes); err != nil || f.last {
				return
			}
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-c.wake:
		case <-c.done:
			return
		}
	}
}

// notify implements client.
func (c *conn) notify(kind zk.EventType, path string, zxid int64) {
	c.push(frame{bytes: encodeEvent(kind, path, zxid)})
}

// broken implements client. The client of an expired session learns of that when it connects again.
func (c *conn) broken(bool) { c.close() }

// close breaks the connection.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.done)
		_ = c.net.Close()
	}
}

// A fourLetterWord is a question of an administrator, which comes in place of the first frame's length. It is an error
// so that it can be returned instead of a frame.
type fourLetterWord string

func (w fourLetterWord) Error() string { return "four-letter word " + string(w) }

// fourLetters returns the word that a length may be.
func fourLetters(head [4]byte) (fourLetterWord, bool) {
	w := fourLetterWord(head[:])
	return w, slices.Contains([]fourLetterWord{"ruok", "wchp", "dump"}, w)
}

// answer answers a four-letter word as a server does, as far as the words are about sessions, ephemeral znodes and
// watches on data.
func (s *Service) answer(m *server, word fourLetterWord) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case m.stopped:
		return ""
	case word == "ruok":
		return "imok"
	case word == "wchp":
		return m.watchedPaths()
	}
	return s.dump(m)
}

// watchedPaths lists the paths with watches on data, each followed by its sessions.
func (m *server) watchedPaths() string {
	var b strings.Builder
	for _, p := range slices.Sorted(maps.Keys(m.watches.data)) {
		fmt.Fprintln(&b, p)
		for l := range m.watches.data[p] {
			fmt.Fprintf(&b, "\t0x%x\n", uint64(l.session.id))
		}
	}
	return b.String()
}

// dump lists the sessions, and the ephemeral znodes by session.
func (s *Service) dump(m *server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "SessionTracker dump:\n%d sessions\n", len(s.sessions))
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		fmt.Fprintf(&b, "\t0x%x\n", uint64(id))
	}
	owned := map[int64][]string{}
	for p, n := range m.view() {
		if n.ephemeral() {
			owned[n.owner] = append(owned[n.owner], p)
		}
	}
	fmt.Fprintf(&b, "ephemeral nodes dump:\nSessions with Ephemerals (%d):\n", len(owned))
	for _, id := range slices.Sorted(maps.Keys(owned)) {
		fmt.Fprintf(&b, "0x%x:\n", uint64(id))
		for _, p := range slices.Sorted(slices.Values(owned[id])) {
			fmt.Fprintf(&b, "\t%s\n", p)
		}
	}
	return b.String() + "Connections dump\n"
}
