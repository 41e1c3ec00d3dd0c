package rundir

import (
	"fmt"
	"hash/maphash"
	"path"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check"
	"locklab/harness/history"
)

// unrecorded says what contended for a lock by the servers' transaction logs although no client recorded it, because a
// record, or a part of it, is missing then: a session that no client had, or the znode of an attempt that no client
// made. It is known only of recipes that are built into locklab. Their clients record every session, and most of them
// record each attempt before they ask the servers for a znode.
func unrecorded(r *Run) []string {
	if r.Servers == nil || r.Servers.History == nil || foreign(r.Scenario) {
		return nil
	}
	locks, attempts := map[string]bool{}, map[uint64]bool{} // by path; by the GUID's hash, as there are millions
	seed := maphash.MakeSeed()
	hosts, attempting := map[history.SessionID]string{}, map[string]bool{}
	for _, e := range r.Events.Of(history.OpConnected, history.OpAcquire, history.OpAttempt) {
		switch e.Op {
		case history.OpConnected:
			hosts[e.Session] = e.Process
		case history.OpAcquire:
			locks[e.Lock] = true
		case history.OpAttempt:
			attempting[e.Process] = true
			attempts[maphash.String(seed, nodes.GUIDOf(e.Attempt()))] = true
		}
	}
	named := map[string]bool{} // each session or process once
	var lacks []string
	lack := func(file, what string, l *nodes.Life) {
		if !named[file+what] {
			named[file+what] = true
			lacks = append(lacks, fmt.Sprintf("%s/%s/%s lacks %s, which made %s at zxid %s by the transaction logs",
				hostsDir, file, processHistory, what, l.Path, check.Zxid(l.Czxid)))
		}
	}
	for _, l := range r.Servers.History.Lives {
		if l.Owner == 0 || l.Czxid == 0 || !below(l.Path, locks) {
			continue
		}
		owner := history.SessionID(l.Owner)
		host, known := hosts[owner]
		guid := l.GUID()
		switch {
		case !known:
			lack("*", "session "+owner.String(), l)
		case attempting[host] && guid != "" && !attempts[maphash.String(seed, guid)]:
			lack(host, "an attempt", l)
		}
	}
	return lacks
}

// below reports whether a path is one of the locks, or below one.
func below(znode string, locks map[string]bool) bool {
	for p := znode; len(p) > 1; p = path.Dir(p) {
		if locks[p] {
			return true
		}
	}
	return false
}
