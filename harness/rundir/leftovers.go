package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"locklab/ensembles"
	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// WriteDump writes the answer of a server to "dump" at the end of a run.
func WriteDump(dir, server, answer string) error {
	return replaceWith(filepath.Join(HostDir(dir, server), dumpFile), []byte(answer))
}

// Barrier begins the path of the znode that a write through each server creates before the server's log is copied.
const Barrier = "/locklab-ready-"

func isBarrier(node string) bool { return strings.HasPrefix("/"+path.Base(node), Barrier) }

// addLeftovers notes the ephemeral znodes that a server still had at the end, although their session had been closed
// before the server committed its last write.
func addLeftovers(dir string, log *evidence.ServerLog) {
	var barriers []int64
	for _, l := range log.History.Lives {
		if isBarrier(l.Path) && l.Czxid != 0 {
			barriers = append(barriers, l.Czxid)
		}
	}
	slices.Sort(barriers)
	if len(barriers) == 0 {
		return
	}
	before := barriers[max(0, len(barriers)-len(log.Servers))]
	for _, server := range log.Servers {
		dump, err := os.ReadFile(filepath.Join(HostDir(dir, server), dumpFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it did not serve at the end
		}
		if err != nil {
			log.Doubts = append(log.Doubts, err.Error())
			continue
		}
		for session, paths := range ensembles.ParseDump(string(dump)) {
			s := log.History.Sessions[session]
			if s == nil || s.Closed == 0 || s.Closed >= before {
				continue
			}
			for _, p := range paths {
				id := history.SessionID(session)
				text := fmt.Sprintf("server %s still had %s at the end, although its session %s was closed at zxid %s",
					server, p, id, evidence.Zxid(s.Closed))
				log.Contradictions = append(log.Contradictions,
					evidence.Contradiction{Server: server, Session: id, Path: p, Zxid: s.Closed, Text: text})
			}
		}
	}
}

// merged is what the servers' logs come to together.
type merged struct {
	history *nodes.History
	all     *txnlog.Ensemble
	seen    survey
	err     error
}

// merge puts the logs of an ensemble of size servers together. Transactions of the tails were never carried out.
func merge(size int, copied collection, sources []txnlog.Source, passed []tail) merged {
	m := merged{history: nodes.NewHistory(), seen: survey{since: copied.since, ended: copied.ended}}
	m.all, m.err = txnlog.Merge(size, func(e *txnlog.Entry) {
		for i := range passed {
			passed[i].note(e)
		}
		m.seen.note(e)
		if e.Fate == txnlog.Committed {
			m.history.Add(&e.Txn)
		}
	}, sources...)
	return m
}

// A tail is transactions at the end of an epoch that a majority of the servers logged, and that the next leader had not
// carried out.
type tail struct {
	after, last int64  // zxids: after the one, up to the other
	by          string // what shows that it was not carried out

	count       int
	first, till int64    // zxids of the first and the last of them
	servers     []string // that logged them
}

// note makes a transaction of the tail one that is not committed.
func (t *tail) note(e *txnlog.Entry) {
	if e.Zxid <= t.after || e.Zxid > t.last || e.Fate != txnlog.Committed {
		return
	}
	e.Fate = txnlog.Uncommitted
	if t.count++; t.count == 1 {
		t.first = e.Zxid
	}
	t.till = e.Zxid
	for _, s := range e.Servers {
		if !slices.Contains(t.servers, s) {
			t.servers = append(t.servers, s)
		}
	}
}

func (t *tail) String() string {
	return fmt.Sprintf("%s, a majority, logged %d transactions at the end of an epoch (zxid %s to %s) that %s, and "+
		"later transactions fit only if they were never carried out; when a server that logged them is started again, "+
		"it carries them out", strings.Join(t.servers, " and "), t.count, evidence.Zxid(t.first), evidence.Zxid(t.till),
		t.by)
}

// passOver finds tails that were never carried out although a majority logged them, and returns the logs without them.
//
// A leader commits what a majority has acknowledged, and a server acknowledges what it has logged, so what a majority
// logged in time counts as committed. But a follower whose disk stalled until its leader dropped it logs what waited to
// be written while it looks for a new leader, and acknowledges it to nobody. It goes by what it had carried out when it
// votes and when it leads, and the dropped leader is made to cut its log. By the logs alone, the tail looks like one
// that a snapshot brought to the server that lacks it.
//
// All servers may have logged such a tail, if the dropped leader had not to cut its log either. Then it is known by the
// transactions of the next epoch alone that contradict it, and begins with the first that they contradict, since a
// server carries transactions out in their order.
//
// What follows in the next epoch decides. If transactions of it do not fit behind the tail (a znode is created that
// has one of the tail's transactions for its creation, or one is deleted that such a transaction has deleted), and they
// fit without it, then the tail was not carried out. A client that was granted a lock by a transaction of the tail
// contradicts that: the tail counts as committed then, and the contradictions of the servers stand.
func passOver(size int, copied collection, sources []txnlog.Source, m merged, events *history.Log) (merged, []tail) {
	if len(m.history.Oddities) == 0 {
		return m, nil
	}
	var passed []tail
	for _, g := range m.all.Gaps {
		last := min(g.Before-1, g.After|(1<<32-1))
		if g.After>>32 != g.Before>>32 && !granted(events, g.After, last) {
			passed = append(passed, tail{after: g.After, last: last, by: g.Server + " lacks"})
		}
	}
	first := map[int64]int64{} // the first transaction of an epoch that one of a later epoch contradicts
	for _, o := range m.history.Oddities {
		epoch := o.Earlier >> 32
		if o.Earlier != 0 && epoch < o.Zxid>>32 && (first[epoch] == 0 || o.Earlier < first[epoch]) {
			first[epoch] = o.Earlier
		}
	}
	for _, epoch := range slices.Sorted(maps.Keys(first)) {
		from := first[epoch]
		if last := epoch<<32 | (1<<32 - 1); !granted(events, from-1, last) {
			passed = append(passed, tail{after: from - 1, last: last, by: "contradict the next epoch"})
		}
	}
	if len(passed) == 0 {
		return m, nil
	}
	without := merge(size, copied, sources, passed)
	if len(without.history.Oddities) >= len(m.history.Oddities) {
		return m, nil
	}
	for _, o := range without.history.Oddities {
		if !slices.Contains(m.history.Oddities, o) {
			return m, nil
		}
	}
	return without, slices.DeleteFunc(passed, func(t tail) bool { return t.count == 0 })
}

// granted reports whether a client was granted a lock with a token after a zxid and up to another.
func granted(events *history.Log, after, last int64) bool {
	for _, e := range events.Of(history.OpAcquire) {
		if e.Kind == history.OK && e.Token > after && e.Token <= last {
			return true
		}
	}
	return false
}
