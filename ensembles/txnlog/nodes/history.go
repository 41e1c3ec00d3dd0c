package nodes

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"locklab/ensembles/txnlog"
)

// A Life is one znode from its creation to its deletion. A later znode of the same
// path is another life.
type Life struct {
	Path string
	// Czxid is of the transaction that created it, which is a lock's token; 0 if it was
	// there before the log begins. The znodes of one multi share it.
	Czxid   int64
	Created int64 // ms
	// Owner is the session of an ephemeral znode, else 0.
	Owner int64
	End   *End // nil if it lives still
}

// Name is the last part of the znode's path.
func (l *Life) Name() string { return l.Path[strings.LastIndexByte(l.Path, '/')+1:] }

// GUID returns the GUID in the znode's name by which a protected create is found again; empty if there is none.
func (l *Life) GUID() string {
	guid, _ := guidOf(l.Name())
	return guid
}

// An End is what ended a znode's life.
type End struct {
	Zxid int64
	Time int64 // ms
	// Cause is Delete, DeleteContainer or CloseSession.
	Cause txnlog.Type
	// By is the session that deleted it, or that was closed; 0 is the server itself.
	By int64
}

// A Session is one session's life.
type Session struct {
	ID int64
	// Created is the zxid, 0 if it was there before the log begins; Closed is 0 if it lives still.
	Created, Closed         int64
	CreatedTime, ClosedTime int64 // ms
	Timeout                 time.Duration
	// Expired tells the leader's closing of a silent session from the client's own: the leader's
	// request has no cxid.
	Expired bool
}

// An Oddity is a transaction that does not fit what went before: the log lacks something, or
// a server is at fault.
type Oddity struct {
	Zxid int64
	// Session is whose transaction it is, and Path the znode that it is about, if it is about one.
	Session int64
	Path    string
	What    string
}

func (o Oddity) String() string { return fmt.Sprintf("zxid 0x%x: %s", uint64(o.Zxid), o.What) }

// A History is what transactions did to znodes and sessions.
type History struct {
	// Lives are in the order of creation, those from before the log at their end.
	Lives    []*Life
	Sessions map[int64]*Session
	// First and Last are the zxids that the history begins and ends with; 0 if it is empty.
	First, Last int64
	// Complete says that it begins with a new ensemble's first transaction, so that there was nothing before.
	Complete bool
	Oddities []Oddity

	live   map[string]*Life
	owned  map[int64]map[string]*Life // live, by session
	byPath map[string][]*Life
	byGUID map[string][]*Life
}

// firstZxid is the first of the first leader of a new ensemble, and of a server alone.
func firstZxid(zxid int64) bool { return zxid == 1<<32+1 || zxid == 1 }

// Replay makes a history of transactions, which must be in zxid order.
func Replay(txns iter.Seq[txnlog.Txn]) *History {
	h := &History{Sessions: map[int64]*Session{}, live: map[string]*Life{}, owned: map[int64]map[string]*Life{}, byPath: map[string][]*Life{}, byGUID: map[string][]*Life{}}
	for t := range txns {
		if h.First == 0 {
			h.First, h.Complete = t.Zxid, firstZxid(t.Zxid)
		} else if t.Zxid <= h.Last {
			h.odd(t, "", "it comes after 0x%x", uint64(h.Last))
			continue
		}
		h.Last = t.Zxid
		switch t.Type {
		case txnlog.CreateSession:
			h.openSession(t)
		case txnlog.CloseSession:
			h.closeSession(t)
		}
		for _, o := range t.Effects() {
			switch {
			case o.Type.Creates():
				h.create(t, o)
			case o.Type.Deletes():
				h.end(t, o.Path, o.Type)
			}
		}
	}
	return h
}

func (h *History) odd(t txnlog.Txn, path, format string, args ...any) {
	h.Oddities = append(h.Oddities, Oddity{Zxid: t.Zxid, Session: t.Session, Path: path, What: fmt.Sprintf(format, args...)})
}

// session returns the session, which may be from before the log.
func (h *History) session(t txnlog.Txn) *Session {
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

func (h *History) openSession(t txnlog.Txn) {
	if h.Sessions[t.Session] != nil {
		h.odd(t, "", "session 0x%x is created again", uint64(t.Session))
		return
	}
	h.Sessions[t.Session] = &Session{ID: t.Session, Created: t.Zxid, CreatedTime: t.Time, Timeout: t.Timeout}
}

func (h *History) closeSession(t txnlog.Txn) {
	s := h.session(t)
	if s.Closed != 0 {
		h.odd(t, "", "session 0x%x is closed again", uint64(t.Session))
		return
	}
	s.Closed, s.ClosedTime, s.Expired = t.Zxid, t.Time, t.Cxid == 0
	for _, p := range t.Closes {
		if l := h.live[p]; l != nil && l.Owner != t.Session {
			h.odd(t, p, "session 0x%x takes with it %s, which is 0x%x's", uint64(t.Session), p, uint64(l.Owner))
		}
		h.end(t, p, txnlog.CloseSession)
	}
	// All that are still there go too, listed or not (DataTree.killSession).
	for _, p := range sortedKeys(h.owned[t.Session]) {
		if t.Closes != nil {
			h.odd(t, p, "session 0x%x is not said to take with it its %s", uint64(t.Session), p)
		}
		h.end(t, p, txnlog.CloseSession)
	}
}

func (h *History) create(t txnlog.Txn, o txnlog.Op) {
	if h.live[o.Path] != nil {
		h.odd(t, o.Path, "%s is created, but exists since 0x%x", o.Path, uint64(h.live[o.Path].Czxid))
		return
	}
	l := &Life{Path: o.Path, Czxid: t.Zxid, Created: t.Time}
	if o.Ephemeral {
		l.Owner = t.Session
		if s := h.session(t); s.Closed != 0 {
			h.odd(t, o.Path, "%s is created by session 0x%x, which was closed at 0x%x", o.Path, uint64(t.Session), uint64(s.Closed))
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
	h.Lives = append(h.Lives, l)
	h.byPath[l.Path] = append(h.byPath[l.Path], l)
	if guid := l.GUID(); guid != "" {
		h.byGUID[guid] = append(h.byGUID[guid], l)
	}
}

func (h *History) end(t txnlog.Txn, path string, cause txnlog.Type) {
	l := h.live[path]
	if l == nil {
		if h.Complete || len(h.byPath[path]) > 0 {
			h.odd(t, path, "%s is deleted, but does not exist", path)
			return
		}
		l = &Life{Path: path} // from before the log
		if cause == txnlog.CloseSession {
			l.Owner = t.Session
		}
		h.add(l)
	}
	l.End = &End{Zxid: t.Zxid, Time: t.Time, Cause: cause, By: t.Session}
	delete(h.live, path)
	delete(h.owned[l.Owner], path)
}

// At returns the znode of that path as the transaction of zxid left it, or nil.
func (h *History) At(path string, zxid int64) *Life {
	for _, l := range h.byPath[path] {
		if l.Czxid <= zxid && (l.End == nil || zxid < l.End.Zxid) {
			return l
		}
	}
	return nil
}

// ByGUID returns the znodes whose names begin in "_c_", that GUID and a dash, as a protected create's do, in the
// order of creation. There are none if no such create was ever committed; that is certain only if
// the history spans the time of the request and of all that its session did later.
func (h *History) ByGUID(guid string) []*Life { return h.byGUID[guid] }

// guidOf reads the GUID in a protected znode's name: with dashes as Curator writes it
// (ProtectedUtils), or without as go-zookeeper does.
func guidOf(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, "_c_")
	if !ok {
		return "", false
	}
	size := 32
	if len(rest) > 8 && rest[8] == '-' {
		size = 36
	}
	if len(rest) <= size || rest[size] != '-' {
		return "", false
	}
	return rest[:size], true
}
