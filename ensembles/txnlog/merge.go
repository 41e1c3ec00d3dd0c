package txnlog

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
)

// A Source is the logs of one server.
type Source struct {
	Server  string
	Records iter.Seq2[Record, error]
}

// A Fate says whether the ensemble accepted a transaction.
type Fate int

// The fates. A transaction that is not committed was only proposed, and no client was told of it.
const (
	Undecided   Fate = iota // these logs do not show it
	Committed               // a majority of the servers has logged it
	Uncommitted             // too few servers have logged it, and no more will
)

func (f Fate) String() string { return [...]string{"undecided", "committed", "uncommitted"}[f] }

// An Entry is a transaction of an ensemble.
type Entry struct {
	Record
	// Servers are the names of the servers whose logs have the transaction.
	Servers []string
	Fate    Fate
}

// A Contradiction is a pair of different records of two servers with the same zxid. ZooKeeper's atomic broadcast
// rules that out, so one of the servers, or its disk, is faulty.
type Contradiction struct {
	Servers [2]string
	Records [2]Record
}

func (c Contradiction) String() string {
	return fmt.Sprintf("%s and %s contradict each other: %s at byte %d says %v, %s at byte %d says %v",
		c.Servers[0], c.Servers[1], c.Records[0].File, c.Records[0].Offset, c.Records[0].Txn,
		c.Records[1].File, c.Records[1].Offset, c.Records[1].Txn)
}

// A Gap is a run of committed transactions that a server's log lacks although it has earlier and later ones. It is
// normal if a snapshot brought the server up to date, and otherwise a loss.
type Gap struct {
	Server        string
	After, Before int64 // the zxids before and after the gap
	Missing       int
}

// An Ensemble is the combined contents of the servers' logs.
type Ensemble struct {
	// Entries are in zxid order, with one entry for each zxid.
	Entries        []Entry
	Contradictions []Contradiction
	Gaps           []Gap
	// Torn are the errors of logs whose last record is incomplete, which is normal after a crash.
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

// Merge merges the logs of an ensemble of size servers by zxid. It keeps each transaction once in memory. The error
// joins those of the logs that cannot be read. Each of these logs counts as missing, but the part of it that could be
// read is in the result. The servers must have stopped or be idle. Otherwise the logs end at different moments, and
// transactions that are on their way look uncommitted.
//
// If records contradict each other, Merge uses the one that most servers have, whatever the order of the sources.
// Without a majority its fate is undecided.
//
// A log may lack its beginning, if the server came late or was given a snapshot. A transaction is committed if a
// majority of the size servers has logged it. It is also committed if a server that has it logged a committed
// transaction of the same epoch after it, because a leader proposes in order. Otherwise the transaction is part of a
// tail that only a minority has, and it is uncommitted. There are two exceptions, in which it is undecided: if logs
// are missing that might have it, and if a server that has it went on in a later epoch without cutting it off
// (Leader.TRUNC). In the second case the new leader either had the transaction, or sent a snapshot that lacks it.
//
// The log of the new leader can decide the second case, because it contains what the new leader had and the first
// transaction that it proposed. So if all logs are present, and no log that has the tail has the next epoch's first
// transaction, the new leader lacked the tail, and the tail is uncommitted.
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
	others  map[int64][]*Entry // the entries that contradict them
	sets    [][]string         // of servers; entries share them, because there are few
	out     Ensemble
}

// with returns the set of servers that has one more.
func (m *merger) with(servers []string, server string) []string {
	n := len(servers)
	for _, set := range m.sets {
		if len(set) == n+1 && set[n] == server && slices.Equal(set[:n], servers) {
			return set
		}
	}
	set := append(slices.Clone(servers), server)
	m.sets = append(m.sets, set)
	return set
}

func (m *merger) add(server string, rec Record) {
	e := m.entries[rec.Zxid]
	if e == nil {
		m.entries[rec.Zxid] = &Entry{Record: rec, Servers: m.with(nil, server)}
		return
	}
	if !e.Same(rec.Txn) {
		m.out.Contradictions = append(m.out.Contradictions,
			Contradiction{Servers: [2]string{e.Servers[0], server}, Records: [2]Record{e.Record, rec}})
		i := slices.IndexFunc(m.others[rec.Zxid], func(o *Entry) bool { return o.Same(rec.Txn) })
		if i < 0 {
			m.others[rec.Zxid] = append(m.others[rec.Zxid], &Entry{Record: rec, Servers: m.with(nil, server)})
			return
		}
		e = m.others[rec.Zxid][i]
	}
	if !slices.Contains(e.Servers, server) {
		e.Servers = m.with(e.Servers, server)
	}
}

// elect keeps, among records that contradict each other, the one that most servers have, or the first of several
// such.
func (m *merger) elect() {
	for z, others := range m.others {
		for _, o := range others {
			if len(o.Servers) > len(m.entries[z].Servers) {
				m.entries[z] = o
			}
		}
	}
}

// finish sorts the entries and decides their fates from the last to the first, because a server's later records can
// show the fate of its earlier ones.
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
			e.Fate = Undecided // a transaction with this zxid was committed, but perhaps another one
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
	m.out.Entries = make([]Entry, 0, len(zxids))
	for _, z := range zxids {
		m.out.Entries = append(m.out.Entries, *m.entries[z])
		delete(m.entries, z)
	}
	slices.SortStableFunc(m.out.Contradictions, func(a, b Contradiction) int {
		return cmp.Compare(a.Records[0].Zxid, b.Records[0].Zxid)
	})
}

// overruled decides the fate of a transaction in a tail by the log of the next leader; see [Merge].
func (m *merger) overruled(e *Entry) {
	first := m.entries[(epoch(e.Zxid)+1)<<32+1]
	if e.Fate != Undecided || first == nil {
		return
	}
	if !slices.ContainsFunc(e.Servers, func(s string) bool { return slices.Contains(first.Servers, s) }) {
		e.Fate = Uncommitted
	}
}

// epoch returns the part of a zxid that identifies the leader.
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
