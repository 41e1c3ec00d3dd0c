package zktest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"locklab/recipes/zktest/sim"
)

// A role is what a server does.
type role int

const (
	down      role = iota // its process does not run
	looking               // for a leader
	following             // a leader
	leading
)

// A peer is a server of an ensemble.
type peer struct {
	e      *Ensemble
	m      *server // its data, as far as it has carried them out, and its watches
	number int
	host   *sim.Host
	role   role
	// term counts its roles: what began in an earlier one is void.
	term int
	// log are the transactions that it has been told of, of which it has some on disk and has carried out some.
	log             []*proposal
	logged, applied int
	diskBusy        time.Duration // until when its disk is at work

	// epoch is that of the last leader that it followed, or was.
	epoch int64

	// These belong to a follower.
	follows  *peer
	to, from *lane // with the leader
	heard    time.Duration
	touched  map[int64]struct{} // sessions that it has heard of and not reported

	// These belong to a leader.
	contact  map[*peer]time.Duration // when it last heard of a follower
	expiries map[int64]time.Duration // of sessions
	syncs    []pendingSync

	wires []*wire // of its clients
}

// A pendingSync is answered when the leader has committed everything that it had proposed.
type pendingSync struct {
	after int
	do    func()
}

func (p *peer) serves() bool { return p.role == following || p.role == leading }

// boot starts the server's process, which takes a while.
func (p *peer) boot(in time.Duration) {
	p.term++
	term := p.term
	p.e.w.After(in, p.host, func() {
		if p.term == term {
			p.look()
		}
	})
}

// leave ends what the server does in its role: the connections of its clients break.
func (p *peer) leave() {
	p.term++
	for _, c := range slices.Clone(p.wires) {
		c.shut()
	}
	p.m.watches = newWatches()
	p.follows, p.touched, p.contact, p.expiries, p.syncs = nil, nil, nil, nil, nil
}

// look makes the server look for a leader.
func (p *peer) look() {
	p.leave()
	p.role = looking
	p.lookAgain()
}

func (p *peer) lookAgain() {
	term := p.term
	p.e.w.After(p.e.w.Between(200*time.Millisecond, 800*time.Millisecond), p.host, func() {
		if p.term != term {
			return
		}
		if !p.join() && !p.elect() {
			p.lookAgain()
		}
	})
}

// lost makes a follower look for another leader than the one that it has lost.
func (p *peer) lost(leader *peer) {
	if p.follows == leader {
		p.look()
	}
}

// join makes the server follow the leader, if there is one that it reaches.
func (p *peer) join() bool {
	l := p.e.leader
	if l == nil || l.role != leading || l == p || l.host.Paused() || !p.e.reaches(l.host, p.host) {
		return false
	}
	p.follow(l)
	l.commit()
	return true
}

// follow makes the server a follower with all that the leader has.
func (p *peer) follow(l *peer) {
	p.term++
	p.role, p.follows, p.epoch = following, l, l.epoch
	p.heard, p.touched = p.e.w.Now(), map[int64]struct{}{}
	p.to, p.from = &lane{e: p.e, from: p.host, to: l.host}, &lane{e: p.e, from: l.host, to: p.host}
	p.log = slices.Clone(l.log)
	p.logged = len(p.log)
	l.contact[p] = p.heard
	for _, q := range l.log[l.applied:] {
		q.acks[p.number] = true
	}
	p.carryOut(l.applied)
	p.watchLeader(p.term)
}

// watchLeader makes a follower give its leader up when it has been silent for too long.
func (p *peer) watchLeader(term int) {
	p.e.w.After(p.e.halfTick(), p.host, func() {
		switch {
		case p.term != term:
		case p.e.w.Now()-p.heard > p.e.silence():
			p.look()
		default:
			p.watchLeader(term)
		}
	})
}

// elect makes the best of those that look for a leader, as far as this one reaches them, their leader, if they are a
// majority.
func (p *peer) elect() bool {
	var voters []*peer
	for _, v := range p.e.peers {
		if v.role == looking && !v.host.Paused() && (v == p || p.e.reaches(v.host, p.host)) {
			voters = append(voters, v)
		}
	}
	if len(voters) < p.e.quorum() {
		return false
	}
	best := slices.MaxFunc(voters, func(a, b *peer) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.newest(), b.newest()), cmp.Compare(a.number, b.number))
	})
	voters = slices.DeleteFunc(voters, func(v *peer) bool { return !p.e.reaches(v.host, best.host) })
	if len(voters) < p.e.quorum() {
		return false
	}
	best.lead(voters)
	return true
}

// newest is the number of the newest transaction that the server has on disk.
func (p *peer) newest() int64 {
	if p.logged == 0 {
		return 0
	}
	return p.log[p.logged-1].zxid
}

// lead makes the server the leader of voters. What it has on disk is committed thereby.
func (p *peer) lead(voters []*peer) {
	e := p.e
	e.epoch++
	e.leader, p.epoch = p, e.epoch
	p.term++
	p.role, p.contact, p.expiries = leading, map[*peer]time.Duration{}, map[int64]time.Duration{}
	p.log = slices.Clone(p.log[:p.logged])
	p.carryOut(len(p.log))
	e.svc.tree, e.svc.zxid = p.m.old.clone(), e.epoch<<32
	e.svc.revive(p.log)
	for id, ss := range e.svc.sessions {
		if !ss.over {
			p.touch(id)
		}
	}
	for _, v := range voters {
		if v != p {
			v.follow(p)
		}
	}
	p.tick(p.term)
	p.expirations(p.term)
}

// tick is what a leader does each half tick.
func (p *peer) tick(term int) {
	e := p.e
	e.w.After(e.halfTick(), p.host, func() {
		if p.term != term {
			return
		}
		now, in := e.w.Now(), 1
		for _, f := range e.peers {
			at, follows := p.contact[f]
			if follows && now-at <= e.silence() {
				in++
			}
			if f.follows == p {
				f.ping()
			}
		}
		if in < e.quorum() {
			p.look()
			return
		}
		p.tick(term)
	})
}

// expirations makes a leader end sessions at each full tick of the clock, as ZooKeeper's thread for that does.
func (p *peer) expirations(term int) {
	e := p.e
	e.w.At((e.w.Now()/e.cfg.Tick+1)*e.cfg.Tick, p.host, func() {
		if p.term != term {
			return
		}
		if e.leader == p {
			p.expire(e.w.Now())
		}
		p.expirations(term)
	})
}

// ping asks a follower for its report.
func (f *peer) ping() {
	l, term := f.follows, f.term
	f.from.send(func() {
		if f.term != term {
			return
		}
		f.heard = f.e.w.Now()
		touched := slices.Sorted(maps.Keys(f.touched))
		clear(f.touched)
		f.to.send(func() {
			if f.term != term || f.e.leader != l || l.role != leading {
				return
			}
			l.contact[f] = f.e.w.Now()
			for _, id := range touched {
				l.touch(id)
			}
		})
	})
}

// touch notes at the leader that a session was heard of: it lasts for its timeout from now, rounded up to a tick.
func (p *peer) touch(id int64) {
	if ss := p.e.svc.sessions[id]; ss != nil && !ss.over {
		p.expiries[id] = ((p.e.w.Now()+ss.timeout)/p.e.cfg.Tick + 1) * p.e.cfg.Tick
	}
}

// expire ends the sessions that were not heard of in time.
func (p *peer) expire(now time.Duration) {
	var over []int64
	for id, at := range p.expiries {
		if at <= now {
			over = append(over, id)
		}
	}
	slices.Sort(over)
	for _, id := range over {
		p.e.Expired++
		p.closeSession(p.e.svc.sessions[id], &origin{})
	}
}
