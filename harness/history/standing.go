package history

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
