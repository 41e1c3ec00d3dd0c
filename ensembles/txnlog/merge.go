package txnlog

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// A Source is one server's logs.
type Source struct {
	Server  string
	Records iter.Seq2[Record, error]
}

// A Fate says whether the ensemble accepted a transaction.
type Fate int

// The fates. What is not committed was only proposed, and no client was told of it.
const (
	Undecided   Fate = iota // these logs do not tell
	Committed               // a majority has logged it
	Uncommitted             // too few have, and never will
)

func (f Fate) String() string { return [...]string{"undecided", "committed", "uncommitted"}[f] }

// An Entry is a transaction of an ensemble.
type Entry struct {
	Record
	// Servers are those whose logs have it.
	Servers []string
	Fate    Fate
}

// A Contradiction is two servers' records of one zxid that differ, which ZooKeeper's
// atomic broadcast rules out: either server, or its disk, is wrong.
type Contradiction struct {
	Servers [2]string
	Records [2]Record
}

func (c Contradiction) String() string {
	return fmt.Sprintf("%s and %s contradict each other: %s at byte %d says %v, %s at byte %d says %v",
		c.Servers[0], c.Servers[1], c.Records[0].File, c.Records[0].Offset, c.Records[0].Txn, c.Records[1].File, c.Records[1].Offset, c.Records[1].Txn)
}

// A Gap is committed transactions that a server's log lacks, though it has earlier
// and later ones. It is in order where the server was brought up to date by a snapshot, and else
// a loss.
type Gap struct {
	Server        string
	After, Before int64 // the zxids around it that the log has
	Missing       int
}

// An Ensemble is what the servers' logs say together.
type Ensemble struct {
	// Entries are in zxid order, each zxid once.
	Entries        []Entry
	Contradictions []Contradiction
	Gaps           []Gap
	// Torn are the ends of logs that were not written to their end, which is in order.
	Torn []error
}

// Committed yields the committed transactions in order.
func (e *Ensemble) Committed() iter.Seq[Txn] {
	return func(yield func(Txn) bool) {
		for _, entry := range e.Entries {
			if entry.Fate == Committed && !yield(entry.Txn) {
				return
			}
		}
	}
}

// Merge puts the logs of an ensemble of size servers together by zxid. It needs memory for each
// transaction once. The error is that of logs that cannot be read, each of which counts as
// missing; what could be read of them is returned beside it. The servers must have stopped, or be idle: else
// the logs end at different moments, and what is on its way looks uncommitted.
//
// Of records that contradict each other the one of the most servers counts, whatever the order of the sources; without
// a majority it is undecided.
//
// A log may lack a beginning, of a server that came late or was given a snapshot. A transaction is
// committed if a majority of the size servers has logged it. It is, too, if a server that has it
// logged a committed one of the same epoch after it: a leader proposes in order. Otherwise it is
// a tail that only a minority has, and uncommitted; but it is undecided if logs are missing that might
// have it, or if a server that has it went on in a later epoch without cutting it off
// (Leader.TRUNC): the new leader then either had it or sent a snapshot that lacks it. What the new leader
// had is in its log, and so is the first transaction that it proposed. So if all logs are there, and the next
// epoch's first transaction is in none that has the tail, the new leader lacked it, and it is uncommitted.
func Merge(size int, sources ...Source) (*Ensemble, error) {
	m := merger{entries: map[int64]*Entry{}, others: map[int64][]*Entry{}}
	var errs []error
	missing := size - len(sources)
	for _, s := range sources {
		readable := true
		for rec, err := range s.Records {
			switch {
			case errors.Is(err, ErrTorn):
				m.out.Torn = append(m.out.Torn, err)
			case err != nil:
				errs = append(errs, err)
				readable = false
			default:
				m.add(s.Server, rec)
			}
		}
		if !readable {
			missing++
		}
	}
	m.elect()
	m.finish(size/2+1, missing)
	for _, s := range sources {
		m.out.Gaps = append(m.out.Gaps, gaps(m.out.Entries, s.Server)...)
	}
	return &m.out, errors.Join(errs...)
}

type merger struct {
	entries map[int64]*Entry
	others  map[int64][]*Entry // what contradicts them
	out     Ensemble
}

func (m *merger) add(server string, rec Record) {
	e := m.entries[rec.Zxid]
	if e == nil {
		m.entries[rec.Zxid] = &Entry{Record: rec, Servers: []string{server}}
		return
	}
	if !e.Same(rec.Txn) {
		m.out.Contradictions = append(m.out.Contradictions, Contradiction{Servers: [2]string{e.Servers[0], server}, Records: [2]Record{e.Record, rec}})
		i := slices.IndexFunc(m.others[rec.Zxid], func(o *Entry) bool { return o.Same(rec.Txn) })
		if i < 0 {
			m.others[rec.Zxid] = append(m.others[rec.Zxid], &Entry{Record: rec, Servers: []string{server}})
			return
		}
		e = m.others[rec.Zxid][i]
	}
	if !slices.Contains(e.Servers, server) {
		e.Servers = append(e.Servers, server)
	}
}

// elect has of records that contradict each other the one that most servers have, the first of several.
func (m *merger) elect() {
	for z, others := range m.others {
		for _, o := range others {
			if len(o.Servers) > len(m.entries[z].Servers) {
				m.entries[z] = o
			}
		}
	}
}

// finish sorts the entries and decides their fates, from the last to the first: what a server
// logged later tells of what it logged before.
func (m *merger) finish(quorum, missing int) {
	zxids := slices.Sorted(maps.Keys(m.entries))
	next := map[string]int64{} // the earliest committed zxid so far in each server's log
	for _, z := range slices.Backward(zxids) {
		e := m.entries[z]
		e.Fate = Uncommitted
		if len(e.Servers)+missing >= quorum {
			e.Fate = Undecided
		}
		for _, s := range e.Servers {
			if later, ok := next[s]; ok && epoch(later) == epoch(z) || len(e.Servers) >= quorum {
				e.Fate = Committed
				break
			} else if ok {
				e.Fate = Undecided
			}
		}
		if e.Fate == Committed && len(e.Servers) < quorum && len(m.others[z]) > 0 {
			e.Fate = Undecided // something was committed, but perhaps not this
		}
		if e.Fate == Committed {
			for _, s := range e.Servers {
				next[s] = z
			}
		}
	}
	if missing == 0 {
		for _, z := range zxids {
			m.overruled(m.entries[z])
		}
	}
	for _, z := range zxids {
		m.out.Entries = append(m.out.Entries, *m.entries[z])
	}
	slices.SortStableFunc(m.out.Contradictions, func(a, b Contradiction) int { return cmp.Compare(a.Records[0].Zxid, b.Records[0].Zxid) })
}

// overruled decides about a tail by the log of the leader that came next.
func (m *merger) overruled(e *Entry) {
	first := m.entries[(epoch(e.Zxid)+1)<<32+1]
	if e.Fate == Undecided && first != nil && !slices.ContainsFunc(e.Servers, func(s string) bool { return slices.Contains(first.Servers, s) }) {
		e.Fate = Uncommitted
	}
}

// epoch is the leader's part of a zxid.
func epoch(zxid int64) int64 { return zxid >> 32 }

func gaps(all []Entry, server string) []Gap {
	var found []Gap
	g := Gap{Server: server}
	begun := false
	for _, e := range all {
		switch {
		case slices.Contains(e.Servers, server):
			if g.Missing > 0 {
				g.Before = e.Zxid
				found = append(found, g)
			}
			g.After, g.Missing, begun = e.Zxid, 0, true
		case begun && e.Fate == Committed:
			g.Missing++
		}
	}
	return found
}
