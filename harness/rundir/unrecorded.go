package rundir

import (
	"fmt"
	"path"

	"locklab/harness/check"
	"locklab/harness/history"
)

// unrecordedSessions says which sessions contended for a lock by the servers' transaction logs although no client's
// record has them, because a record is missing then. It is known only of recipes that are built into locklab, whose
// clients record every session.
func unrecordedSessions(r *Run) []string {
	if r.Servers == nil || r.Servers.History == nil || foreign(r.Scenario) {
		return nil
	}
	known, locks := map[history.SessionID]bool{}, map[string]bool{}
	for i := range r.Events {
		switch e := &r.Events[i]; e.Op {
		case history.OpConnected:
			known[e.Session] = true
		case history.OpAcquire:
			locks[e.Lock] = true
		}
	}
	var lacks []string
	for _, l := range r.Servers.History.Lives {
		owner := history.SessionID(l.Owner)
		if l.Owner == 0 || known[owner] || !below(l.Path, locks) {
			continue
		}
		known[owner] = true // it is named once
		lacks = append(lacks, fmt.Sprintf("%s/*/%s lack session %s, which made %s at zxid %s by the transaction logs",
			hostsDir, processHistory, owner, l.Path, check.Zxid(l.Czxid)))
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
