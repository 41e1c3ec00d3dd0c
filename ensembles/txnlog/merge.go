package txnlog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// A Fate says whether the ensemble accepted a transaction.
type Fate int

// The fates. A transaction that is not committed was only proposed, and no client was told of it.
const (
	Undecided   Fate = iota // these logs do not show it
	Committed               // a majority of the servers has logged it in time
	Uncommitted             // too few servers have logged it, and no more will
)

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

// An Ensemble is what the servers' logs have besides committed transactions.
type Ensemble struct {
	// Others are the transactions that are not committed, in zxid order, with their fates.
	Others         []Entry
	Contradictions []Contradiction
	Gaps           []Gap
	// Torn are the errors of logs whose last record is incomplete, which is normal after a crash.
	Torn []error
	// Fell are the servers that logged a transaction after one with a higher zxid.
	Fell []string
}

// Merge merges the logs of an ensemble of size servers by zxid. It calls visit for each transaction, once and in zxid
// order. If the transaction is not committed, its fate is not known yet, and looks undecided; [Ensemble.Others] has it
// in the end. The Entry and its data are valid until visit returns; its texts stay.
//
// The error joins those of the logs that cannot be read. Each of these logs counts as missing, but the part of it that
// could be read is in the result. The servers must have stopped or be idle. Otherwise the logs end at different
// moments, and transactions that are on their way look uncommitted. There are at most 64 sources.
//
// Merge keeps in memory what it has not visited yet: the transactions from one on that is on a minority of the servers
// until another one of its epoch shows that it is committed, or until the epoch ends. Of a server that logged
// transactions in another order than that of their zxids, it keeps all.
//
// If records contradict each other, Merge uses the one that most servers have, whatever the order of the sources.
// Without a majority its fate is undecided.
//
// A log may lack its beginning, if the server came late or was given a snapshot. A transaction is committed if a
// majority of the size servers has logged it in time, which is before any transaction of a later epoch. A server that
// logged it after one of those had not acknowledged it to its leader: its disk was slow, it joined the next leader,
// and then it wrote what still waited to be written (ZOOKEEPER-4541). A transaction is also committed if a server that
// has it logged a committed transaction of the same epoch after it, because a leader proposes in order. Otherwise the
// transaction is part of a tail that only a minority has, and it is uncommitted. There are two exceptions, in which it
// is undecided: if logs are missing that might have it, and if a server that has it went on in a later epoch without
// cutting it off (Leader.TRUNC). In the second case the new leader either had the transaction, or sent a snapshot that
// lacks it.
//
// The log of the new leader can decide the second case, because it contains what the new leader had and the first
// transaction that it proposed. So if all logs are present, and no log that has the tail has the next epoch's first
// transaction, the new leader lacked the tail, and the tail is uncommitted.
func Merge(size int, visit func(*Entry), sources ...Source) (*Ensemble, error) {
	m := merger{quorum: size/2 + 1, visit: visit, sources: sources, firsts: map[int64]servers{},
		names: map[servers][]string{}, gaps: make([][]Gap, len(sources)), last: make([]int64, len(sources))}
	for _, s := range sources {
		m.now = append(m.now, Gap{Server: s.Server})
	}
	torn, failed := m.run()
	missing := size - len(sources)
	for i := range sources {
		m.out.Torn = append(m.out.Torn, torn[i]...)
		m.out.Gaps = append(m.out.Gaps, m.gaps[i]...)
		if failed[i] != nil {
			missing++
		}
	}
	m.decide(missing)
	return &m.out, errors.Join(failed...)
}

// servers is a set of sources, by their numbers.
type servers uint64

func (s servers) has(i int) bool { return s>>i&1 != 0 }
func (s servers) count() int     { return bits.OnesCount64(uint64(s)) }

// A candidate is one of the records that servers have with a zxid, if they contradict each other.
type candidate struct {
	Record
	payload []byte
	first   int // the first of the servers
	by      servers
	inTime  servers // those of by that logged it before any transaction of a later epoch
}

// logs notes that a server has the record.
func (c *candidate) logs(source int, late bool) {
	c.by |= 1 << source
	if !late {
		c.inTime |= 1 << source
	}
}

// A held transaction waits for what decides about it, or about one before it.
type held struct {
	Record
	by       servers
	disputed bool // servers have other records with its zxid
	is       bool // it is committed
}

type merger struct {
	quorum  int
	visit   func(*Entry)
	sources []Source
	out     Ensemble

	zxid    int64
	found   []candidate // for zxid
	payload []byte      // room for that of found[0], and for its operation
	ops     [1]Op

	pending []held
	reached servers // those that logged a committed transaction after the last of pending that is not

	entry  Entry
	names  map[servers][]string
	firsts map[int64]servers // by zxid: who has the first transaction of an epoch
	last   []int64           // by source: its last committed transaction
	now    []Gap             // by source: that which may have begun
	gaps   [][]Gap
	others []servers // of out.Others
}

// run takes all records. It returns which errors each source has, by the number of the source: where its files are
// torn, and why it cannot be read.
func (m *merger) run() (torn [][]error, failed []error) {
	torn, failed = make([][]error, len(m.sources)), make([]error, len(m.sources))
	stop := make(chan struct{})
	defer close(stop)
	streams := make([]*stream, len(m.sources))
	for i, s := range m.sources {
		streams[i] = s.read(stop)
	}
	heads := make([]*rawRecord, len(streams))
	next := func(i int) {
		for heads[i] = streams[i].head(); heads[i] != nil; heads[i] = streams[i].head() {
			switch err := heads[i].err; {
			case failed[i] != nil:
			case errors.Is(err, ErrTorn):
				torn[i] = append(torn[i], err)
			case err != nil:
				failed[i] = err
			default:
				return
			}
			streams[i].skip()
		}
	}
	for i := range streams {
		next(i)
	}
	for {
		any := false
		for _, rec := range heads {
			if rec != nil && (!any || rec.zxid < m.zxid) {
				m.zxid, any = rec.zxid, true
			}
		}
		if !any {
			break
		}
		for i := range heads {
			for heads[i] != nil && heads[i].zxid == m.zxid {
				failed[i] = m.add(i, heads[i])
				streams[i].skip()
				next(i)
			}
		}
		m.settle()
	}
	m.release()
	for _, s := range streams {
		if s.fell {
			m.out.Fell = append(m.out.Fell, s.Server)
		}
	}
	return torn, failed
}

// add adds a server's record with the zxid. It is not decoded if it is the first one byte for byte.
func (m *merger) add(source int, raw *rawRecord) error {
	if len(m.found) > 0 && bytes.Equal(m.found[0].payload, raw.payload) {
		m.found[0].logs(source, raw.late)
		return nil
	}
	c := candidate{first: source}
	c.logs(source, raw.late)
	var ops []Op
	if len(m.found) == 0 {
		m.payload = append(m.payload[:0], raw.payload...)
		c.payload, ops = m.payload, m.ops[:]
	} else {
		c.payload = bytes.Clone(raw.payload)
	}
	t, err := decode(c.payload, ops)
	if err != nil {
		return &FileError{File: raw.file, Offset: raw.offset, Err: fmt.Errorf("%w: %w", ErrCorrupt, err)}
	}
	c.Record = Record{Txn: t, File: raw.file, Offset: raw.offset}
	if len(m.found) == 0 {
		m.found = append(m.found, c)
	} else {
		m.compare(c)
	}
	return nil
}

// compare adds a record that is not the first one byte for byte.
func (m *merger) compare(c candidate) {
	if first := &m.found[0]; !first.Same(c.Txn) {
		m.out.Contradictions = append(m.out.Contradictions, Contradiction{
			Servers: [2]string{m.sources[first.first].Server, m.sources[c.first].Server},
			Records: [2]Record{first.own(), c.Record},
		})
	}
	i := slices.IndexFunc(m.found, func(o candidate) bool { return o.Same(c.Txn) })
	if i < 0 {
		m.found = append(m.found, c)
	} else {
		m.found[i].by |= c.by
		m.found[i].inTime |= c.inTime
	}
}

// own returns the record with memory of its own.
func (c *candidate) own() Record {
	own := c.Record
	own.Txn, _ = decode(bytes.Clone(c.payload), nil) // it was decoded before
	return own
}

// settle visits the transaction with the zxid, or holds it. Among records that contradict each other it takes the one
// that most servers have, or the first of several such.
func (m *merger) settle() {
	if len(m.found) == 0 {
		return // no server's record could be decoded
	}
	c := &m.found[0]
	for i := range m.found {
		if m.found[i].by.count() > c.by.count() {
			c = &m.found[i]
		}
	}
	if m.zxid&(1<<32-1) == 1 {
		m.firsts[m.zxid] = c.by
	}
	committed := c.inTime.count() >= m.quorum
	if n := len(m.pending); n > 0 && epoch(m.pending[n-1].Zxid) != epoch(m.zxid) {
		m.release()
	}
	if committed && len(m.pending) == 0 {
		m.pass(&c.Record, c.by, true)
	} else {
		m.hold(held{Record: c.own(), by: c.by, disputed: len(m.found) > 1, is: committed})
	}
	m.found = m.found[:0]
}

// hold keeps a transaction until it is known whether those before it are committed. Which are is decided from the last
// to the first, because a server's later records show the fate of its earlier ones.
func (m *merger) hold(h held) {
	m.pending = append(m.pending, h)
	switch {
	case !h.is:
		m.reached = 0
		return
	case h.by&^m.reached == 0:
		return // the last one of these servers has shown what this one shows
	}
	m.reached |= h.by
	reached := m.reached
	for i := len(m.pending) - 1; i >= 0; i-- {
		p := &m.pending[i]
		// Of a disputed one, perhaps another record was committed.
		p.is = p.is || p.by&reached != 0 && !p.disputed
		if p.is {
			reached |= p.by
		}
	}
	n := 0
	for ; n < len(m.pending) && m.pending[n].is; n++ {
		m.pass(&m.pending[n].Record, m.pending[n].by, true)
	}
	m.pending = slices.Delete(m.pending, 0, n)
}

// release visits all that is held, because nothing will come that shows that it is committed.
func (m *merger) release() {
	for i := range m.pending {
		m.pass(&m.pending[i].Record, m.pending[i].by, m.pending[i].is)
	}
	m.pending, m.reached = nil, 0
}

func (m *merger) pass(rec *Record, by servers, committed bool) {
	m.entry = Entry{Record: *rec, Servers: m.namesOf(by)}
	if committed {
		m.entry.Fate = Committed
	} else {
		m.out.Others, m.others = append(m.out.Others, m.entry), append(m.others, by)
	}
	for i := range m.sources {
		g := &m.now[i]
		switch {
		case by.has(i):
			if g.Missing > 0 {
				g.Before = rec.Zxid
				m.gaps[i] = append(m.gaps[i], *g)
			}
			if g.After, g.Missing = rec.Zxid, 0; committed {
				m.last[i] = rec.Zxid
			}
		case g.After != 0 && committed:
			g.Missing++
		}
	}
	m.visit(&m.entry)
}

func (m *merger) namesOf(by servers) []string {
	names, known := m.names[by]
	if !known {
		for i, s := range m.sources {
			if by.has(i) {
				names = append(names, s.Server)
			}
		}
		m.names[by] = names
	}
	return names
}

// decide finds the fates of the transactions that are not committed, where so many logs are missing.
func (m *merger) decide(missing int) {
	for k := range m.out.Others {
		e, by := &m.out.Others[k], m.others[k]
		e.Fate = Uncommitted
		if by.count()+missing >= m.quorum {
			e.Fate = Undecided
		}
		for i := range m.sources {
			if by.has(i) && m.last[i] > e.Zxid {
				e.Fate = Undecided
			}
		}
		// By the log of the next leader; see Merge.
		if first := m.firsts[(epoch(e.Zxid)+1)<<32+1]; missing == 0 && first != 0 && first&by == 0 {
			e.Fate = Uncommitted
		}
	}
	slices.SortStableFunc(m.out.Contradictions, func(a, b Contradiction) int {
		return cmp.Compare(a.Records[0].Zxid, b.Records[0].Zxid)
	})
}

// epoch returns the part of a zxid that identifies the leader.
func epoch(zxid int64) int64 { return zxid >> 32 }
