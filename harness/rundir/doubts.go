package rundir

import (
	"fmt"
	"hash/maphash"
	"path"
	"slices"

	"locklab/chaos"
	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// A survey finds out whether merged logs may lack something that happened, and whether their times may be wrong. It
// notes every transaction, in zxid order.
type survey struct {
	since int64 // the last zxid before the run; 0 = not known
	ended int64 // the last reading of the wall clock, in ms; 0 = none

	first, last int64 // zxids
	missing     int64
	elections   int

	// Of committed transactions: the last one, and the last that is a write before the logs are copied.
	committed, settled int64

	// In ms: the latest time of this epoch's transactions so far, that of all committed ones, and by how much a
	// leader's clock went back and was ahead.
	latest, latestCommitted, back, ahead int64
	epoch                                int64 // that latest is of
}

// note notes the next transaction. Within an epoch, transactions are numbered from 1 without a gap.
func (s *survey) note(e *txnlog.Entry) {
	if s.first == 0 {
		if s.first, s.last = e.Zxid, s.since; s.since == 0 {
			s.last = e.Zxid
		}
	}
	if e.Zxid>>32 == s.last>>32 && e.Zxid > s.last+1 {
		s.missing += e.Zxid - s.last - 1
	}
	if counter := e.Zxid & (1<<32 - 1); e.Zxid>>32 > s.last>>32 {
		s.missing += max(counter-1, 0)
		if s.last>>32 != 0 {
			s.elections++
		}
	}
	if e.Fate == txnlog.Committed {
		s.committed = e.Zxid
		if slices.ContainsFunc(e.Ops, func(o txnlog.Op) bool {
			return o.Type.Creates() && isBarrier(o.Path)
		}) {
			s.settled = e.Zxid
		}
	}
	if e.Zxid > s.since { // not from before the run
		s.time(e)
	}
	s.last = max(s.last, e.Zxid)
}

// time notes when the leader prepared a transaction of the run. From one leader to the next, only committed
// transactions are in the order of time, because a leader that is cut off goes on preparing transactions that are never
// committed.
func (s *survey) time(e *txnlog.Entry) {
	if e.Zxid>>32 != s.epoch {
		s.epoch, s.latest = e.Zxid>>32, e.Time
	}
	s.latest = max(s.latest, e.Time)
	s.back, s.ahead = max(s.back, s.latest-e.Time), max(s.ahead, e.Time-s.ended)
	if e.Fate == txnlog.Committed {
		s.latestCommitted = max(s.latestCommitted, e.Time)
		s.back = max(s.back, s.latestCommitted-e.Time)
	}
}

// doubts says why the logs may lack something that happened, or why their times may be wrong.
func (s *survey) doubts(all *txnlog.Ensemble, copied collection, events *history.Log) []string {
	doubts := s.completeness(all)
	doubts = append(doubts, s.end(copied)...)
	doubts = append(doubts, s.times()...)
	return append(doubts, s.steppedClocks(events)...)
}

// completeness says why the merged logs may lack something that happened since the run began.
func (s *survey) completeness(all *txnlog.Ensemble) []string {
	if s.first == 0 {
		return []string{"the servers' logs are empty"}
	}
	var doubts []string
	if s.since == 0 && s.first != 1 && s.first != 1<<32+1 {
		doubts = append(doubts, fmt.Sprintf("the servers' logs begin at zxid %s, and it is not known where the run began",
			evidence.Zxid(s.first)))
	}
	if s.missing > 0 {
		doubts = append(doubts, fmt.Sprintf("%d transactions are in no server's log", s.missing))
	}
	undecided := 0
	for i := range all.Others {
		if e := &all.Others[i]; e.Fate == txnlog.Undecided && e.Type != txnlog.Error {
			undecided++
		}
	}
	if undecided > 0 {
		doubts = append(doubts, fmt.Sprintf("the logs do not say whether %d transactions were committed",
			undecided))
	}
	return doubts
}

// end says why the merged logs may lack the end of the run. They must reach every transaction that servers or clients
// are known to have seen. After the last grant they must have one of the writes that the servers commit before their
// logs are copied.
func (s *survey) end(copied collection) []string {
	end := "the servers' logs end at zxid " + evidence.Zxid(s.committed)
	switch {
	case s.committed < copied.seen:
		return []string{fmt.Sprintf("%s, and every server had seen zxid %s", end, evidence.Zxid(copied.seen))}
	case s.committed < copied.granted:
		return []string{fmt.Sprintf("%s, and a client was told of zxid %s", end, evidence.Zxid(copied.granted))}
	case s.settled <= max(copied.since, copied.granted):
		return []string{end + " without the writes that the servers commit before their logs are copied"}
	}
	return nil
}

// steppedMs is the error of a leader's clock from which on the times of its transactions prove nothing.
const steppedMs = 100

// times says why the times of transactions may not be those of the one wall clock that all hosts share: a leader's
// clock went back, or was ahead of the last reading of the wall clock.
func (s *survey) times() []string {
	var doubts []string
	if s.back > steppedMs {
		doubts = append(doubts, fmt.Sprintf("a leader's clock went back by %d ms", s.back))
	}
	if s.ended != 0 && s.ahead > steppedMs {
		doubts = append(doubts, fmt.Sprintf("a leader's clock was ahead by %d ms or more", s.ahead))
	}
	return doubts
}

// steppedClocks says why the times of transactions may be wrong although they are in order: a fault stepped the
// clock of a server that led then, or may have led since. Where nothing was written for longer than the step, the times
// do not show it.
func (s *survey) steppedClocks(events *history.Log) []string {
	for _, f := range history.Faults(events) {
		stepped, led := false, s.elections > 0
		for _, e := range f.Steps {
			// A fault that failed may have stepped the clock all the same.
			stepped = stepped || e.Op == history.OpFaultInject && e.Kind != history.Invoke
			led = led || e.Op == history.OpFaultAim && e.FaultStep().Leads
		}
		if stepped && led && chaos.KindOf(f.Kind).StepsClock {
			return []string{fmt.Sprintf("fault %s stepped the clock of a server that may have led, "+
				"and transactions have the times of their leader's clock", f.ID)}
		}
	}
	return nil
}

// unanswered says whether more accesses of clients were accepted than the resource recorded, because a part of its
// record is missing then: it records each access before it answers. Accesses that were refused tell nothing, because
// clients refuse some themselves.
func unanswered(r *Run) []string {
	if r.Scenario.Guard == evidence.GuardZKMulti {
		return nil // ZooKeeper answers
	}
	type access struct {
		client, lock string
		op           history.Op
	}
	missing := map[access]int{}
	for _, e := range r.Events.Of(history.OpEnter, history.OpRead, history.OpWrite, history.OpExit) {
		a := access{e.Client, e.Lock, e.Op}
		switch {
		case e.Kind != history.OK:
		case e.Process == ResourceHost:
			missing[a]--
		default:
			missing[a]++
		}
	}
	total := 0
	for _, n := range missing {
		total += max(n, 0)
	}
	if total == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s lacks %d accesses that were accepted by the clients' records",
		path.Join(hostsDir, ResourceHost, processHistory), total)}
}

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
				hostsDir, file, processHistory, what, l.Path, evidence.Zxid(l.Czxid)))
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
