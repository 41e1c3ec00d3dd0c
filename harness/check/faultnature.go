package check

import "locklab/ensembles/txnlog"

// A FaultNature says what faults of a kind can do to sessions and znodes, as far as an explanation can rest on it.
// The catalogue of faults has one for each kind. The zero value is a fault that can keep a session from being
// heard of only where it strikes the session's client or server, and that is over as soon as it is healed.
type FaultNature struct {
	// Cause is what the damage is put down to: pause, kill, partition or [CauseAdministrator]; empty means the kind.
	Cause string
	// SparesSessions says that such a fault cannot keep a session's client, its server and the leader from hearing
	// of each other: znodes in a lock's directory cannot, nor can a wall clock, which sessions do not go by.
	SparesSessions bool
	// SilencesLeader says that such a fault of the leader keeps the followers' word of their sessions from it. A
	// leader that is only slow to clients, or cut off from them, still hears of all other sessions.
	SilencesLeader bool
	// HampersLeader says that such a fault of the leader may keep the followers' word from it for a while: what is
	// lost on the way is sent again, sooner or later.
	HampersLeader bool
	// Lingers says that what such a fault broke is not back as soon as the fault is undone: a process has to come
	// up, or a connection has to be made anew.
	Lingers bool
	// EndsSessions and DeletesZnodes say what such a fault does in somebody else's name. DeletesAll says that it
	// deletes the znodes of all clients of a lock, and not those of one client.
	EndsSessions, DeletesZnodes, DeletesAll bool

	_ struct{}
}

// silences reports whether f can keep a session's client, its server and the leader from hearing of each other.
func (f *fault) silences() bool { return !f.nature.SparesSessions }

// silencesLeader reports whether f struck the leader so that the followers' word of their sessions did not reach it.
func (f *fault) silencesLeader() bool { return f.strikesLeader() && f.nature.SilencesLeader }

// hampersLeader reports whether f may have kept the followers' word of their sessions from the leader for a while.
func (f *fault) hampersLeader() bool { return f.strikesLeader() && f.nature.HampersLeader }

func (f *fault) strikesLeader() bool { return f.Role == RoleLeader && !f.SparesServers }

// ends reports whether an administrator's fault ends znodes in that way.
func (f *fault) ends(how txnlog.Type) bool {
	if how == txnlog.CloseSession {
		return f.nature.EndsSessions
	}
	return f.nature.DeletesZnodes
}
