package history

import "time"

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
