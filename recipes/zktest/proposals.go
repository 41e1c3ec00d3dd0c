package zktest

import (
	"slices"
	"time"

	"locklab/recipes/zkproto"
	"locklab/recipes/zktest/sim"
)

// A proposal is a transaction that a leader has numbered.
type proposal struct {
	zxid    int64
	session int64
	cxid    int32
	time    int64 // ms, by the leader's clock
	at      time.Duration
	op      Op // 0 = a session's begin
	opened  *session
	changes []change
	from    *origin
	acks    []bool // by server
}

// An origin is the request that asked for a transaction.
type origin struct {
	wire  *wire
	entry *entry
	cxid  int32
	reply reply
}

// append numbers a transaction and sends it to the followers. p leads.
func (p *peer) append(q *proposal) {
	e := p.e
	q.time, q.at, q.acks = e.svc.now(), e.w.Now(), make([]bool, len(e.peers))
	p.log = append(p.log, q)
	p.store()
	for _, f := range e.peers {
		if f.follows != p {
			continue
		}
		term := f.term
		f.from.send(func() {
			if f.term == term {
				f.log = append(f.log, q)
				f.store()
			}
		})
	}
}

// store puts the newest transaction on the server's disk, which it then tells the leader.
func (p *peer) store() {
	e, term, n := p.e, p.term, len(p.log)
	p.diskBusy = max(p.diskBusy, e.w.Now()) + e.w.Between(e.cfg.Disk/10, e.cfg.Disk)
	q := p.log[n-1]
	e.w.At(p.diskBusy, p.host, func() {
		if p.term != term {
			return
		}
		p.logged = n
		if p.role == leading {
			p.acknowledge(p, q)
			return
		}
		l := p.follows
		p.to.send(func() {
			if p.term == term && e.leader == l && l.role == leading {
				l.acknowledge(p, q)
			}
		})
	})
}

// acknowledge notes at the leader that a server has a transaction on disk.
func (p *peer) acknowledge(by *peer, q *proposal) {
	q.acks[by.number] = true
	p.commit()
}

// commit commits, in order, what a majority has on disk, and tells the followers.
func (p *peer) commit() {
	e, n := p.e, p.applied
	for n < len(p.log) {
		acks := 0
		for _, yes := range p.log[n].acks {
			if yes {
				acks++
			}
		}
		if acks < e.quorum() {
			break
		}
		n++
	}
	if n == p.applied {
		return
	}
	p.carryOut(n)
	for _, f := range e.peers {
		if f.follows != p {
			continue
		}
		term := f.term
		f.from.send(func() {
			if f.term == term {
				f.carryOut(n)
			}
		})
	}
	due := p.syncs
	p.syncs = nil
	for _, s := range due {
		if s.after > n {
			p.syncs = append(p.syncs, s)
		} else {
			s.do()
		}
	}
}

// carryOut carries out the first n transactions of the log, as far as that is still to be done.
func (p *peer) carryOut(n int) {
	for ; p.applied < n; p.applied++ {
		q := p.log[p.applied]
		for _, c := range q.changes {
			p.m.old.apply(c)
			p.m.watches.fire(c)
		}
		p.m.oldZxid = q.zxid
		if q.op == OpClose {
			p.dismiss(q)
		}
		if q.from != nil && q.from.wire != nil && q.from.wire.p == p {
			q.from.wire.done(q)
		}
	}
}

// dismiss breaks the connection of a session that has ended, unless its client asked for that and is to be answered.
func (p *peer) dismiss(q *proposal) {
	for _, c := range slices.Clone(p.wires) {
		if c.link != nil && c.link.session.id == q.session && (q.from == nil || q.from.wire != c) {
			c.shut()
		}
	}
}

// propose makes a transaction of operations. It is numbered even if it is refused. p leads.
func (p *peer) propose(from *origin, ops []request, op Op) {
	s := p.e.svc
	s.zxid++
	q := &proposal{zxid: s.zxid, op: op, from: from}
	s.proposed = func(changes []change) { q.changes = changes }
	var l *link
	if from != nil {
		l, q.cxid, q.session = from.wire.link, from.cxid, from.wire.link.session.id
	}
	results := s.transact(l, ops)
	if from != nil {
		if op == OpMulti {
			from.reply = reply{zxid: q.zxid, results: results}
		} else {
			from.reply = results[0]
			from.reply.zxid = q.zxid
		}
	}
	p.append(q)
}

// refuse answers a request that the leader does not execute. It takes a number too.
func (p *peer) refuse(from *origin, code int32) {
	p.e.svc.zxid++
	from.reply = reply{code: code, zxid: p.e.svc.zxid}
	p.append(&proposal{zxid: p.e.svc.zxid, op: OpCheck, from: from, session: from.wire.link.session.id, cxid: from.cxid})
}

// openSession makes a session for a connection.
func (p *peer) openSession(c *wire, timeout time.Duration) {
	s, tick := p.e.svc, p.e.cfg.Tick
	s.last++
	s.zxid++
	ss := &session{id: int64(c.p.number+1)<<56 | s.last, timeout: min(max(timeout, 2*tick), 20*tick),
		password: make([]byte, 16), unwatch: func() {}, owner: c}
	ss.password[0] = byte(s.last)
	s.sessions[ss.id] = ss
	p.touch(ss.id)
	p.append(&proposal{zxid: s.zxid, session: ss.id, opened: ss, from: &origin{wire: c}})
}

// closeSession ends a session, and deletes its znodes, in one transaction.
func (p *peer) closeSession(ss *session, from *origin) {
	s := p.e.svc
	ss.over = true
	delete(p.expiries, ss.id)
	s.zxid++
	q := &proposal{zxid: s.zxid, session: ss.id, cxid: from.cxid, op: OpClose, from: from}
	for _, path := range s.tree.owned(ss.id) {
		c := change{kind: deleted, path: path, zxid: s.zxid}
		s.apply(&c)
		q.changes = append(q.changes, c)
	}
	from.reply = reply{zxid: s.zxid}
	p.append(q)
}

// request carries out at the leader what a server asks of it for one of its clients.
func (p *peer) request(from *origin) {
	r, ss := &from.entry.r, from.wire.link.session
	switch {
	case ss.over:
		p.refuse(from, zkproto.CodeSessionExpired)
	case ss.owner != from.wire:
		p.refuse(from, zkproto.CodeMoved)
	case r.op == OpClose:
		p.closeSession(ss, from)
	case r.op == OpMulti:
		p.propose(from, r.ops, OpMulti)
	default:
		p.propose(from, []request{*r}, r.op)
	}
}

func (s *Service) revive(log []*proposal) {
	for _, ss := range s.sessions {
		ss.over = true
	}
	for _, q := range log {
		switch {
		case q.opened != nil:
			q.opened.over = false
		case q.op == OpClose:
			s.sessions[q.session].over = true
		}
	}
}

// A Transaction is one that the servers have committed, as their logs have it.
type Transaction struct {
	Zxid, Session int64
	// Cxid is 0 if the leader expired the session.
	Cxid int32
	// Time is the leader's clock in ms, and At the world's.
	Time int64
	At   time.Duration
	// Opens is the timeout of the session that it begins; 0 = none. Closes says that it ends the session.
	Opens  time.Duration
	Closes bool
	// Multi says that the client asked for several operations.
	Multi bool
	// Refused says that it changes nothing.
	Refused bool
	Changes []Change
}

// A Change is what a transaction does to one znode.
type Change struct {
	// Op is OpCreate, OpDelete, OpSetData or OpSetACL.
	Op        Op
	Path      string
	Data      []byte
	Ephemeral bool
}

// Transactions returns all that have been committed, in order, except those that changed nothing.
func (e *Ensemble) Transactions() []Transaction {
	best := slices.MaxFunc(e.peers, func(a, b *peer) int { return a.applied - b.applied })
	return slices.DeleteFunc(best.transactions(), func(t Transaction) bool { return t.Refused })
}

// Logged returns the transactions that a server has carried out, in order, as its log has them.
func (e *Ensemble) Logged(server *sim.Host) []Transaction { return e.peerOf(server).transactions() }

func (p *peer) transactions() (all []Transaction) {
	for _, q := range p.log[:p.applied] {
		t := Transaction{Zxid: q.zxid, Session: q.session, Cxid: q.cxid, Time: q.time, At: q.at, Closes: q.op == OpClose,
			Multi: q.op == OpMulti, Refused: q.opened == nil && q.op != OpClose && len(q.changes) == 0}
		if q.opened != nil {
			t.Opens = q.opened.timeout
		}
		for _, c := range q.changes {
			op := [...]Op{created: OpCreate, deleted: OpDelete, dataSet: OpSetData, aclSet: OpSetACL}[c.kind]
			t.Changes = append(t.Changes, Change{Op: op, Path: c.path, Data: c.data,
				Ephemeral: c.owner != 0 && c.owner != containerOwner})
		}
		all = append(all, t)
	}
	return all
}
