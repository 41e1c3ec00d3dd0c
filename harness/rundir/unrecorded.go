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
func unrecorded(r *Run, known attempted) []string {
	if r.Servers == nil || r.Servers.History == nil || foreign(r.Scenario) {
		return nil
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
		if l.Owner == 0 || l.Czxid == 0 || !below(l.Path, known.locks) {
			continue
		}
		owner := history.SessionID(l.Owner)
		host, connected := known.hosts[owner]
		guid := l.GUID()
		switch {
		case !connected:
			lack("*", "session "+owner.String(), l)
		case known.processes[host] && guid != "" && !known.attempts[maphash.String(known.seed, guid)]:
			lack(host, "an attempt", l)
		}
	}
	return lacks
}

// An attempted is what clients recorded of their sessions and attempts.
type attempted struct {
	seed      maphash.Seed
	attempts  map[uint64]bool // by the GUID's hash, as there are millions
	locks     map[string]bool // by path
	hosts     map[history.SessionID]string
	processes map[string]bool // those that recorded attempts
}

func attemptsOf(r *Run) attempted {
	all := attempted{seed: maphash.MakeSeed(),
		attempts: make(map[uint64]bool, r.Events.Count(history.OpAttempt, history.Info)),
		locks:    map[string]bool{}, hosts: map[history.SessionID]string{}, processes: map[string]bool{}}
	for _, e := range r.Events.Of(history.OpConnected, history.OpAcquire, history.OpAttempt) {
		switch e.Op {
		case history.OpConnected:
			all.hosts[e.Session] = e.Process
		case history.OpAcquire:
			all.locks[e.Lock] = true
		case history.OpAttempt:
			all.processes[e.Process] = true
			all.attempts[maphash.String(all.seed, nodes.GUIDOf(e.Attempt()))] = true
		}
	}
	return all
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
