package nodes

import (
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"locklab/ensembles/txnlog"
)

// A Life is the life of one znode from its creation to its deletion. A later znode with the same path has a life of
// its own.
type Life struct {
	Path string
	// Czxid is the zxid of the transaction that created the znode, which is a lock's token. It is 0 if the znode is
	// older than the log. The znodes of one multi share it.
	Czxid   int64
	Created int64 // ms
	// Owner is the session of an ephemeral znode, or 0.
	Owner int64
	End   *End // nil if the znode still exists
	// Number is the place in [History.Lives].
	Number int
}

// Name returns the last part of the znode's path.
func (l *Life) Name() string { return l.Path[strings.LastIndexByte(l.Path, '/')+1:] }

// GUID returns the GUID in the znode's name, by which a client finds the result of a protected create. It is empty if
// there is none.
func (l *Life) GUID() string { return GUIDOf(l.Name()) }

// An End is what ended a znode's life.
type End struct {
	Zxid int64
	Time int64 // ms
	// Cause is Delete, DeleteContainer or CloseSession.
	Cause txnlog.Type
	// By is the session that deleted the znode or was closed. It is 0 for the server itself.
	By int64
}

// A Session is the life of one session.
type Session struct {
	ID int64
	// Created and Closed are zxids. Created is 0 if the session is older than the log, and Closed is 0 if the session
	// still exists.
	Created, Closed         int64
	CreatedTime, ClosedTime int64 // ms
	Timeout                 time.Duration
	// Expired says that the leader closed a silent session, and not the client its own. The leader's request has no
	// cxid.
	Expired bool
	// Acted are the times, in ms and in order, at which the leader took up a request of the session that changes
	// something, or is refused.
	Acted []int64
}

// An Oddity is a transaction that contradicts the earlier ones. Either the log is incomplete or a server is faulty.
type Oddity struct {
	Zxid int64
	// Session is the session of the transaction. Path is the znode that it is about, if any.
	Session int64
	Path    string
	What    string
	Earlier int64 // the transaction that it contradicts; 0 if that is not one
}

func (o Oddity) String() string { return fmt.Sprintf("zxid 0x%x: %s", uint64(o.Zxid), o.What) }

// A History is what transactions did to znodes and sessions.
type History struct {
	// Lives are in the order of creation. Znodes that are older than the log are placed where they end.
	Lives    []*Life
	Sessions map[int64]*Session
	// First and Last are the first and the last zxid of the history, or 0 if it is empty.
	First, Last int64
	// Complete says that the history begins with the first transaction of a new ensemble, so that nothing came
	// before.
	Complete bool
	Oddities []Oddity

	lives slab[Life]
	ends  slab[End]
	live  map[string]*Life
	owned map[int64]map[string]*Life // the znodes in live, by session
	// Indices of Lives, made when they are first needed, as they seldom are.
	byPath map[string][]*Life
	byDir  map[string][]*Life
	twins  sync.Once // makes byGUID
	byGUID map[string][]*Life
}

// A slab makes values that live as long as each other, many at once.
type slab[T any] struct{ free []T }

func (s *slab[T]) new() *T {
	if len(s.free) == 0 {
		s.free = make([]T, 512)
	}
	v := &s.free[0]
	s.free = s.free[1:]
	return v
}

// firstZxid reports whether a zxid is the first of a new ensemble's first leader, or of a standalone server.
func firstZxid(zxid int64) bool { return zxid == 1<<32+1 || zxid == 1 }

// NewHistory returns a history without transactions.
func NewHistory() *History {
	return &History{
		Sessions: map[int64]*Session{},
		live:     map[string]*Life{}, owned: map[int64]map[string]*Life{},
	}
}

// Replay builds a history from transactions, which must be in zxid order.
func Replay(txns iter.Seq[txnlog.Txn]) *History {
	h := NewHistory()
	for t := range txns {
		h.Add(&t)
	}
	return h
}

// Add replays the next transaction. Transactions must be in zxid order. The history keeps of it only texts.
func (h *History) Add(t *txnlog.Txn) {
	if h.First == 0 {
		h.First, h.Complete = t.Zxid, firstZxid(t.Zxid)
	} else if t.Zxid <= h.Last {
		h.odd(t, "", "it comes after 0x%x", uint64(h.Last))
		return
	}
	h.Last = t.Zxid
	switch t.Type {
	case txnlog.CreateSession:
		h.openSession(t)
	case txnlog.CloseSession:
		h.closeSession(t)
	default:
		if s := h.Sessions[t.Session]; s != nil {
			s.Acted = append(s.Acted, t.Time)
		}
	}
	effects := t.Effects()
	for i := range effects {
		switch o := &effects[i]; {
		case o.Type.Creates():
			h.create(t, o)
		case o.Type.Deletes():
			h.end(t, o.Path, o.Type)
		}
	}
}

func (h *History) odd(t *txnlog.Txn, path, format string, args ...any) *Oddity {
	what := fmt.Sprintf(format, args...)
	h.Oddities = append(h.Oddities, Oddity{Zxid: t.Zxid, Session: t.Session, Path: path, What: what})
	return &h.Oddities[len(h.Oddities)-1]
}

// session returns the session of a transaction, which may be older than the log.
func (h *History) session(t *txnlog.Txn) *Session {
	s := h.Sessions[t.Session]
	if s == nil {
		s = &Session{ID: t.Session}
		h.Sessions[t.Session] = s
		if h.Complete {
			h.odd(t, "", "session 0x%x was never created", uint64(t.Session))
		}
	}
	return s
}

func (h *History) openSession(t *txnlog.Txn) {
	if h.Sessions[t.Session] != nil {
		h.odd(t, "", "session 0x%x is created again", uint64(t.Session))
		return
	}
	h.Sessions[t.Session] = &Session{ID: t.Session, Created: t.Zxid, CreatedTime: t.Time, Timeout: t.Timeout}
}

func (h *History) closeSession(t *txnlog.Txn) {
	s := h.session(t)
	if s.Closed != 0 {
		h.odd(t, "", "session 0x%x is closed again", uint64(t.Session))
		return
	}
	s.Closed, s.ClosedTime, s.Expired = t.Zxid, t.Time, t.Cxid == 0
	for _, p := range t.Closes {
		if l := h.live[p]; l != nil && l.Owner != t.Session {
			h.odd(t, p, "the closing of session 0x%x deletes %s, which belongs to session 0x%x",
				uint64(t.Session), p, uint64(l.Owner))
		}
		h.end(t, p, txnlog.CloseSession)
	}
	// The server deletes all other znodes of the session as well, listed or not (DataTree.killSession).
	for _, p := range sortedKeys(h.owned[t.Session]) {
		if t.Closes != nil {
			h.odd(t, p, "the closing of session 0x%x does not list the session's own %s", uint64(t.Session),
				p).Earlier = h.live[p].Czxid
		}
		h.end(t, p, txnlog.CloseSession)
	}
}

func (h *History) create(t *txnlog.Txn, o *txnlog.Op) {
	if l := h.live[o.Path]; l != nil {
		h.odd(t, o.Path, "%s is created, but has existed since 0x%x", o.Path, uint64(l.Czxid)).Earlier = l.Czxid
		return
	}
	l := h.lives.new()
	*l = Life{Path: o.Path, Czxid: t.Zxid, Created: t.Time}
	if o.Ephemeral {
		l.Owner = t.Session
		if s := h.session(t); s.Closed != 0 {
			h.odd(t, o.Path, "%s is created by session 0x%x, which was closed at 0x%x",
				o.Path, uint64(t.Session), uint64(s.Closed))
		}
		if h.owned[l.Owner] == nil {
			h.owned[l.Owner] = map[string]*Life{}
		}
		h.owned[l.Owner][o.Path] = l
	}
	h.live[o.Path] = l
	h.add(l)
}

func (h *History) add(l *Life) {
	l.Number = len(h.Lives)
	h.Lives = append(h.Lives, l)
	h.byDir = nil
	if h.byPath != nil {
		h.byPath[l.Path] = append(h.byPath[l.Path], l)
	}
}

// of returns the znodes that had a path, in the order of Lives.
func (h *History) of(path string) []*Life {
	if h.byPath == nil {
		h.byPath = map[string][]*Life{}
		for _, l := range h.Lives {
			h.byPath[l.Path] = append(h.byPath[l.Path], l)
		}
	}
	return h.byPath[path]
}

func (h *History) end(t *txnlog.Txn, path string, cause txnlog.Type) {
	l := h.live[path]
	if l == nil {
		if before := h.of(path); h.Complete || len(before) > 0 {
			o := h.odd(t, path, "%s is deleted, but does not exist", path)
			if n := len(before); n > 0 && before[n-1].End != nil {
				o.Earlier = before[n-1].End.Zxid
			}
			return
		}
		l = h.lives.new()
		l.Path = path // older than the log
		if cause == txnlog.CloseSession {
			l.Owner = t.Session
		}
		h.add(l)
	}
	l.End = h.ends.new()
	*l.End = End{Zxid: t.Zxid, Time: t.Time, Cause: cause, By: t.Session}
	delete(h.live, path)
	delete(h.owned[l.Owner], path)
}

// At returns the znode that had a path after the transaction with zxid, or nil.
func (h *History) At(path string, zxid int64) *Life {
	for _, l := range h.of(path) {
		if l.Czxid <= zxid && (l.End == nil || zxid < l.End.Zxid) {
			return l
		}
	}
	return nil
}

// ByGUID returns the znodes whose names begin with "_c_", the GUID and a dash, as those of protected creates do, in
// the order of creation. If there are none, no such create was ever committed. That is certain only if the history
// covers the time of the request and everything that its session did later. It may be asked for at the same time, once
// the history is complete.
func (h *History) ByGUID(guid string) []*Life {
	h.twins.Do(func() {
		h.byGUID = map[string][]*Life{}
		for _, l := range h.Lives {
			if guid := l.GUID(); guid != "" {
				h.byGUID[guid] = append(h.byGUID[guid], l)
			}
		}
	})
	return h.byGUID[guid]
}

// below returns the znodes in a directory, in the order of Lives.
func (h *History) below(dir string) []*Life {
	if h.byDir == nil {
		h.byDir = map[string][]*Life{}
		for _, l := range h.Lives {
			of, _ := split(l.Path)
			h.byDir[of] = append(h.byDir[of], l)
		}
	}
	return h.byDir[dir]
}

// GUIDOf returns the GUID in a protected znode's name, with dashes as Curator writes it (ProtectedUtils) or without
// as go-zookeeper does. It is empty if there is none.
func GUIDOf(name string) string {
	rest, ok := strings.CutPrefix(name, "_c_")
	if !ok {
		return ""
	}
	size := 32
	if len(rest) > 8 && rest[8] == '-' {
		size = 36
	}
	if len(rest) <= size || rest[size] != '-' {
		return ""
	}
	return rest[:size]
}
