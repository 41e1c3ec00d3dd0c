package zktest

import (
	"fmt"
	"time"

	"locklab/recipes/zktest/sim"
)

// EnsembleConfig says what an [Ensemble] is like. The zero value is three servers with a tick of a second.
type EnsembleConfig struct {
	// Servers is how many servers vote; 0 = 3. They are called zk1, zk2, …
	Servers int
	// Tick is the servers' unit of time; 0 = 1 s. A session lasts from 2 to 20 ticks.
	Tick time.Duration
	// SyncLimit is for how many ticks a leader and a follower may be silent to each other; 0 = 5.
	SyncLimit int
	// Delay is the longest delay of a message, which is drawn from a tenth of that on; 0 = 2 ms. Now and then a message
	// takes ten times as long, as if it had been lost once.
	Delay time.Duration
	// Disk is the longest time in which a server has a transaction on its disk; 0 = 2 ms.
	Disk time.Duration
	// Reap is how often the leader looks for containers that are not used any more; 0 = 60 s.
	Reap time.Duration

	_ struct{} // no positional literals
}

// An Ensemble is several ZooKeeper servers and the network around them, on the virtual time of a [sim.World], whose
// seed decides everything. Clients reach it by [Ensemble.Config], with the protocol that real servers speak, so they
// are the ones that real servers have. It has the znodes, the permissions, the watches and the answers of [Service],
// and adds what servers do among themselves:
//
//   - One leads. It numbers transactions, with its epoch in the upper half, sends them to the others, and commits each
//     when a majority has it on disk. The others learn of that by messages, so they lag behind, each by its own time.
//     A server answers reads from what it has carried out itself, and a session's requests in their order.
//   - Followers report each half tick which sessions they have heard of. The leader alone expires sessions, by its
//     ticks. After an election every session has its whole timeout again.
//   - A follower that has not heard of the leader for SyncLimit ticks, and a leader without a majority, break the
//     connections of their clients. A majority that reaches each other then elects the one with the longest log; what
//     only a minority had is lost.
//   - Servers can be killed, started and paused, hosts can be paused and cut off from each other, connections reset,
//     sessions expired.
//
// Where ZooKeeper leaves freedom, the seed chooses: delays, how long an election takes, when what a cut held up arrives
// after it, and how far each server is behind. It does not model the messages of an election, a disk that fails,
// observers, or TLS.
type Ensemble struct {
	svc    *Service
	w      *sim.World
	cfg    EnsembleConfig
	peers  []*peer
	leader *peer // that of the newest epoch
	epoch  int64
	cuts   map[[2]*sim.Host]int
	breaks map[*sim.Host][]int // see [Ensemble.ResetNext]
	stash  []*lane             // with messages that a cut holds up
	// talking are the connections on which servers have said something that is still to be sent.
	talking []*wire
	// Expired counts the sessions that the leader has expired.
	Expired int
}

// NewEnsemble starts an ensemble in a world. It has no leader yet.
func NewEnsemble(w *sim.World, cfg EnsembleConfig) *Ensemble {
	or := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	if cfg.Servers == 0 {
		cfg.Servers = 3
	}
	if cfg.SyncLimit == 0 {
		cfg.SyncLimit = 5
	}
	or(&cfg.Tick, time.Second)
	or(&cfg.Delay, 2*time.Millisecond)
	or(&cfg.Disk, 2*time.Millisecond)
	or(&cfg.Reap, time.Minute)
	e := &Ensemble{svc: New(Config{Servers: cfg.Servers}), w: w, cfg: cfg, cuts: map[[2]*sim.Host]int{},
		breaks: map[*sim.Host][]int{}}
	for i, m := range e.svc.servers {
		m.lag() // it learns of transactions by messages
		m.address = fmt.Sprintf("zk%d:2181", i+1)
		p := &peer{e: e, m: m, number: i, host: w.Machine(fmt.Sprintf("zk%d", i+1))}
		e.peers = append(e.peers, p)
	}
	for _, p := range e.peers {
		p.boot(e.w.Between(0, 50*time.Millisecond))
	}
	e.every(cfg.Reap, e.reap)
	w.Settle = e.flush
	return e
}

// every calls f again and again.
func (e *Ensemble) every(d time.Duration, f func()) {
	e.w.After(d, nil, func() {
		f()
		e.every(d, f)
	})
}

// Addrs returns the addresses of the servers, for [zksession.Config].
func (e *Ensemble) Addrs() []string { return e.svc.Addrs() }

// Servers returns the servers' hosts.
func (e *Ensemble) Servers() (all []*sim.Host) {
	for _, p := range e.peers {
		all = append(all, p.host)
	}
	return all
}

// Leader returns the host of the server that leads a majority; nil if none does.
func (e *Ensemble) Leader() *sim.Host {
	if e.leader == nil || e.leader.role != leading {
		return nil
	}
	return e.leader.host
}

// Serves reports whether all servers serve clients.
func (e *Ensemble) Serves() bool {
	for _, p := range e.peers {
		if !p.serves() {
			return false
		}
	}
	return true
}

// quorum is how many servers are a majority.
func (e *Ensemble) quorum() int { return len(e.peers)/2 + 1 }

// halfTick is the time between two reports of a follower.
func (e *Ensemble) halfTick() time.Duration { return e.cfg.Tick / 2 }

// silence is how long a leader and a follower may be silent.
func (e *Ensemble) silence() time.Duration { return time.Duration(e.cfg.SyncLimit) * e.cfg.Tick }

// peerOf returns the server on a host.
func (e *Ensemble) peerOf(h *sim.Host) *peer {
	for _, p := range e.peers {
		if p.host == h {
			return p
		}
	}
	return nil
}

// Kill ends a server's process. What it had not on disk is lost. It does nothing if there is none.
func (e *Ensemble) Kill(server *sim.Host) {
	p := e.peerOf(server)
	if p.role == down {
		return
	}
	p.leave()
	p.role = down
	p.log = p.log[:p.logged]
	for _, other := range e.peers {
		if other.follows == p {
			// The connection between them breaks.
			other.from.send(func() { other.lost(p) })
		}
	}
}

// Start starts a server's process after Kill.
func (e *Ensemble) Start(server *sim.Host) {
	if p := e.peerOf(server); p.role == down {
		p.boot(e.w.Between(300*time.Millisecond, 2*time.Second))
	}
}

// Reset breaks the connections that a client has, as a middlebox does; both ends learn of it at once.
func (e *Ensemble) Reset(client *sim.Host) {
	for _, p := range e.peers {
		for _, c := range append([]*wire(nil), p.wires...) {
			if c.client == client {
				c.reset()
			}
		}
	}
}

// ResetNext breaks the next connections on which the client has its session, each as soon as the client has got so many
// frames by it, of which the first is the session's. It replaces what was left of an earlier call.
func (e *Ensemble) ResetNext(client *sim.Host, frames ...int) { e.breaks[client] = frames }

// Expire ends a session in an administrator's name, and reports whether there was one and a leader to do it.
func (e *Ensemble) Expire(session int64) bool {
	ss := e.svc.sessions[session]
	if ss == nil || ss.over || e.Leader() == nil {
		return false
	}
	e.leader.closeSession(ss, &origin{cxid: 1})
	return true
}

// reap deletes the containers that are not used any more.
func (e *Ensemble) reap() {
	if e.Leader() == nil || e.leader.host.Paused() {
		return
	}
	for _, op := range e.svc.unused() {
		e.leader.propose(nil, []request{op}, OpDelete)
	}
}
