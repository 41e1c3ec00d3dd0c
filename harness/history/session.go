package history

import (
	"time"
)

// The ops of a client about its session.
const (
	OpConnected    Op = "connected"    // Info
	OpDisconnected Op = "disconnected" // Info
	OpExpired      Op = "expired"      // Info
	// OpStrike is about harm that a client does to its own session on command; see [Strike].
	OpStrike Op = "strike" // Info: it is about to do it; Fail: it had no session
	// OpHeld is the observer's: the head of a lock's queue changed, as seen by a watch. Session and Token are the
	// head's, 0 if no client is queued.
	OpHeld Op = "held" // Info
)

// A SessionChange is what became of a client's session.
type SessionChange struct {
	Op      Op // OpConnected, OpDisconnected or OpExpired
	Client  string
	Session SessionID
	Server  string        // the server's host name, if the session is, or was, connected to one
	Timeout time.Duration // as negotiated, of OpConnected
	Cause   string        // the error, if there was one
}

// Event returns the event that records the change.
func (c SessionChange) Event() Event {
	return Event{Op: c.Op, Client: c.Client, Session: c.Session, Target: c.Server, Value: int64(c.Timeout),
		Detail: c.Cause}
}

// SessionChange returns the payload of an event of [OpConnected], [OpDisconnected] or [OpExpired].
func (e *Event) SessionChange() SessionChange {
	return SessionChange{Op: e.Op, Client: e.Client, Session: e.Session, Server: e.Target,
		Timeout: time.Duration(e.Value), Cause: e.Detail}
}

// StrikeSettled is the Action of a Strike that says that a client that was driven from its server may go back there.
const StrikeSettled = "settled"

// A Strike is harm that a client does to its own session for a fault.
type Strike struct {
	Fault   string
	Client  string
	Session SessionID
	Action  string // what the client does, or StrikeSettled; of a trigger, the point of its critical section
	Server  string // the host name of the server that the session was connected to
}

// Event returns the event that the client is about to do what the strike says, or has settled it.
func (s Strike) Event() Event {
	return Event{Op: OpStrike, Client: s.Client, Session: s.Session, Fault: s.Fault, Target: s.Server, Detail: s.Action}
}

// Missed returns the event that the client had no session to harm.
func (s Strike) Missed() Event {
	s.Action += ": it has no session"
	e := s.Event()
	e.Kind = Fail
	return e
}

// Strike returns the payload of an event of [OpStrike] or [OpTrigger]. A trigger under a permit has no Server.
func (e *Event) Strike() Strike {
	s := Strike{Fault: e.Fault, Client: e.Client, Session: e.Session, Action: e.Detail}
	if e.Mode != ModePermit {
		s.Server = e.Target
	}
	return s
}

// Struck returns a trigger's event as that of a client that harms its session, which is connected to that server.
func (e Event) Struck(session SessionID, server string) Event {
	e.Session = session
	if e.Target == "" { // a permit's slot otherwise
		e.Target = server
	}
	return e
}

// QueueHead is the event that the head of a lock's queue changed.
func QueueHead(lock string, session SessionID, token int64) Event {
	return Event{Op: OpHeld, Lock: lock, Session: session, Token: token}
}

// OpStanding is an op of the harness: how a server stood at a look at all of them, which have the same time. OK: a
// write was committed through it; Fail: none was, within the time that the look took. See [Standing].
const OpStanding Op = "standing"

// The roles of servers, in their own words.
const (
	RoleLeader     = "leader"
	RoleFollower   = "follower"
	RoleStandalone = "standalone"
)

// A Standing is how a server stood when the harness looked whether the servers serve.
type Standing struct {
	Server string
	// Role is the server's own word, such as leader or follower; empty if it serves nobody.
	Role string
	// Up says that its process answers, whether it serves or not.
	Up bool
	// Committed says that a write was committed through it.
	Committed bool
	// Zxid is the last transaction that it had carried out; 0 if it did not say.
	Zxid int64
	// Counters are further counters of the server, in words; empty if it did not tell any.
	Counters string
}

// Event returns the event that records it, of a look at a time.
func (s Standing) Event(at int64) Event {
	e := Event{At: at, Op: OpStanding, Kind: Fail, Target: s.Server, Mode: Mode(s.Role), Token: s.Zxid, Detail: s.Counters}
	if s.Committed {
		e.Kind = OK
	}
	if s.Up {
		e.Value = 1
	}
	return e
}

// Standing returns the payload of an event of [OpStanding].
func (e *Event) Standing() Standing {
	return Standing{Server: e.Target, Role: string(e.Mode), Up: e.Value == 1, Committed: e.Kind == OK, Zxid: e.Token,
		Counters: e.Detail}
}
