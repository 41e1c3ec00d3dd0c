package zktest

import (
	"crypto/rand"
	"crypto/subtle"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
)

// A session is what the service knows of a client's session.
type session struct {
	id       int64
	password []byte
	timeout  time.Duration
	heard    time.Time // when its last request came
	link     *link     // nil while it is not connected
	cutOff   bool      // it may not connect
	local    *Session  // if it is one of Service.Session, else nil
	over     bool
	unwatch  func() // stops the timer of its expiry
	owner    *wire  // its newest connection, in an [Ensemble]
}

// A link is one connection of a session with a server.
type link struct {
	session *session
	server  *server
	client  client
	done    chan struct{} // closed when the connection is broken
	auth    []zk.ACL      // who the client is; the permissions mean nothing
}

// A client is the other end of a link. Its methods are called with the service's lock held and must not block.
type client interface {
	// notify tells of an event of a watch, and of which transaction it is, or untold.
	notify(kind zk.EventType, path string, zxid int64)
	// broken tells that the link is of no more use. expired says that the session is over.
	broken(expired bool)
}

// A server grants no session timeout below two ticks. Tests want sessions that are over quickly, so only who asks for
// less than least gets leastGranted: it asks for the least that there is.
const (
	least        = 10 * time.Millisecond
	leastGranted = 4 * time.Second
)

// open makes a session at a server, whose number is the first byte of the id. s.mu is held.
func (s *Service) open(m *server, timeout time.Duration) *session {
	s.last++
	s.zxid++
	id := int64(slices.Index(s.servers, m))<<56 | s.last
	if timeout < least {
		timeout = leastGranted
	}
	ss := &session{id: id, timeout: timeout, password: make([]byte, 16), unwatch: func() {}}
	_, _ = rand.Read(ss.password) // it never fails
	s.sessions[ss.id] = ss
	ss.heard = s.cfg.Clock.Now()
	s.guard(ss, timeout)
	return ss
}

// find returns a session that lives, if the password is its own. s.mu is held.
func (s *Service) find(id int64, password []byte) *session {
	ss := s.sessions[id]
	if ss == nil || ss.over || subtle.ConstantTimeCompare(ss.password, password) == 0 {
		return nil
	}
	return ss
}

// connect connects a session to a server. A connection that it may still have is broken. s.mu is held.
func (s *Service) connect(ss *session, m *server, c client) *link {
	if ss.link != nil {
		ss.link.cut()
	}
	ss.link = &link{session: ss, server: m, client: c, done: make(chan struct{})}
	ss.heard = s.cfg.Clock.Now()
	return ss.link
}

// cut breaks a link, unless it is broken. s.mu is held.
func (l *link) cut() { l.end(false) }

func (l *link) end(expired bool) {
	if l.session.link != l {
		return
	}
	l.session.link = nil
	l.forget()
	l.client.broken(expired)
}

// forget forgets what the server knows of a link. s.mu is held.
func (l *link) forget() {
	l.server.watches.data.forget(l)
	l.server.watches.children.forget(l)
	close(l.done)
}

// guard makes a session expire unless it is heard of. s.mu is held.
func (s *Service) guard(ss *session, left time.Duration) {
	ss.unwatch = s.cfg.Clock.AfterFunc(left, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if ss.over {
			return
		}
		now := s.cfg.Clock.Now()
		if ss.local != nil && ss.link != nil {
			return // it is heard of as long as it is connected, and guarded again when it no longer is
		}
		if left := ss.heard.Add(ss.timeout).Sub(now); left > 0 {
			s.guard(ss, left)
			return
		}
		s.end(ss)
	})
}

// end ends a session, which deletes its znodes in one transaction, and breaks its connection. s.mu is held.
func (s *Service) end(ss *session) (zxid int64) {
	if ss.over {
		return s.zxid
	}
	ss.over = true
	ss.unwatch()
	s.zxid++
	var changes []change
	for _, p := range s.tree.owned(ss.id) {
		c := change{kind: deleted, path: p, zxid: s.zxid}
		s.apply(&c)
		changes = append(changes, c)
	}
	s.commit(changes)
	told := ss.link != nil
	if told {
		ss.link.end(true)
	}
	if told || ss.local == nil {
		s.forget(ss)
	}
	return s.zxid
}

// forget forgets a session that is over, unless it is cut off, so that it is not told. s.mu is held.
func (s *Service) forget(ss *session) {
	if ss.over && !ss.cutOff {
		delete(s.sessions, ss.id)
	}
}

// Expire makes the service declare a session expired, and reports whether there was one with this id. A client that is
// connected loses its connection, and learns of the expiry when it connects again.
func (s *Service) Expire(session int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	ss := s.sessions[session]
	if ss == nil || ss.over {
		return false
	}
	s.end(ss)
	return true
}

// Disconnect breaks the connections of these sessions, or of all if none is named. Their clients may connect again at
// once.
func (s *Service) Disconnect(sessions ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ss := range s.chosen(sessions) {
		if ss.link != nil {
			ss.link.cut()
		}
	}
	s.attachAll()
}

// CutOff breaks the connections of these sessions, or of all that there are if none is named, and keeps them from
// connecting until Restore. The service expires each when it has not heard of it for its timeout.
func (s *Service) CutOff(sessions ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ss := range s.chosen(sessions) {
		ss.cutOff = true
		if ss.link != nil {
			ss.link.cut()
		}
	}
}

// Restore lets sessions connect again after CutOff: these, or all if none is named.
func (s *Service) Restore(sessions ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ss := range s.chosen(sessions) {
		ss.cutOff = false
		if ss.local == nil {
			s.forget(ss)
		}
	}
	s.attachAll()
}

// chosen returns the sessions with these ids; all for none. s.mu is held.
func (s *Service) chosen(ids []int64) (all []*session) {
	if len(ids) == 0 {
		for _, ss := range s.sessions {
			all = append(all, ss)
		}
	}
	for _, id := range ids {
		if ss := s.sessions[id]; ss != nil {
			all = append(all, ss)
		}
	}
	return all
}
