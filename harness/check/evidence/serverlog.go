package evidence

import (
	"fmt"
	"slices"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/service"
	"locklab/harness/history"
)

// A ServerLog is what the servers' transaction logs say, put together.
type ServerLog struct {
	// Missing says why there are no logs to read; empty if there are some.
	Missing string
	// Layout says by which znodes the lock's clients contend.
	Layout nodes.Layout
	// History is what the committed transactions of the run did; nil if Missing.
	History *nodes.History
	// Ensemble is all servers' hosts.
	Ensemble []string
	// Servers are those whose logs were read.
	Servers []string
	// Doubts say in words why History may not be all that happened.
	Doubts []string
	// Remarks say in words what servers did wrong that History does not suffer from.
	Remarks []string
	// Contradictions are statements of servers that cannot be true.
	Contradictions []Contradiction

	_ struct{}
}

// A Contradiction is a server's statement about a session or its znode that the ensemble's transactions rule out.
type Contradiction struct {
	Server  string
	Session history.SessionID
	Path    string // a znode, if it is about one
	Zxid    int64
	Text    string
}

// kindReader is the kind of a reader's znode; a writer's is 0.
const kindReader = 1

// Transactions are a ServerLog that is placed on the run's clock.
type Transactions struct {
	*ServerLog
	Clock  service.Placement
	epochs []service.Epoch
}

// newTransactions returns nil if the servers' logs cannot be used at all.
func newTransactions(d *Digest) *Transactions {
	log := d.Facts.Servers
	if log == nil || log.Missing != "" || log.History == nil {
		return nil
	}
	clock := service.NewPlacement(d.Events, log.History)
	if len(clock.Samples) == 0 {
		return nil
	}
	return &Transactions{ServerLog: log, Clock: clock, epochs: service.Epochs(log.History)}
}

// Whole reports whether the logs are all that happened.
func (t *Transactions) Whole() bool { return t != nil && len(t.DoubtedBecause()) == 0 }

// An evidence is what the transactions say about the znodes of a lock's clients.
type evidence struct {
	*Transactions
	Lanes map[string]*nodes.Lane // by lock
	index map[string]*laneIndex  // of lanes

	acquisitions []history.Acquisition
	// single has the spans of grants that are witnessed by one znode of their own, by their places. The proofs of the
	// other grants, of which there are few, are in proofs.
	single []*nodes.Span
	proofs map[int32]Proof
	used   []int32 // by the numbers of znodes: the place of the grant that has it, and 1; see usedBy
	modes  bool    // the layout has readers
	// zxids says that tokens are the numbers of the transactions that created znodes, as most grants show. Other tokens
	// may be any numbers that rise, and now and then be such a number by accident.
	zxids bool
}

// Proof is what the servers say about a grant.
func (v *evidence) Proof(a *history.Acquisition) Proof {
	if s := v.single[a.Place : a.Place+1 : a.Place+1]; s[0] != nil {
		return Proof{Answer: nodes.Witnessed, Spans: s, Best: s[0].Contender, Had: 1}
	}
	return v.proofs[a.Place]
}

// prove asks the servers about a grant; see witness.
func (v *evidence) prove(a *history.Acquisition) {
	w := v.witness(a)
	if w.Answer == nodes.Witnessed && len(w.Spans) == 1 && w.Shared == nil && w.Best == w.Spans[0].Contender {
		v.single[a.Place] = w.Spans[0]
	} else {
		v.proofs[a.Place] = w
	}
}

// UsedBy is the grant that has a znode, nil if none has.
func (v *evidence) UsedBy(l *nodes.Life) *history.Acquisition {
	if place := v.used[l.Number]; place > 0 {
		return &v.acquisitions[place-1]
	}
	return nil
}

// newEvidence returns nil if the servers' logs cannot be used, or if it is not known by which znodes clients contend,
// or in which sessions.
func newEvidence(d *Digest) *evidence {
	if d.Transactions == nil || d.Transactions.Layout == "" || d.SessionsUnsaid() > 0 {
		return nil
	}
	v := &evidence{
		Transactions: d.Transactions,
		Lanes:        map[string]*nodes.Lane{},
		index:        map[string]*laneIndex{},
		acquisitions: d.Acquisitions,
		single:       make([]*nodes.Span, len(d.Acquisitions)),
		proofs:       map[int32]Proof{},
		modes:        d.Transactions.Layout.Modes(),
		used:         make([]int32, len(d.Transactions.History.Lives)),
	}
	firsts := make([]int32, len(v.History.Lives))
	var last *history.Claimant
	for i := range d.Acquisitions {
		if d.Acquisitions[i].Claimant == last {
			continue
		}
		last = d.Acquisitions[i].Claimant
		path := last.Lock
		if v.Lanes[path] == nil {
			v.Lanes[path] = v.History.Lane(v.Layout.Contends(path, func(ms int64) int {
				at := v.Clock.At(ms)
				return int(max(d.MostPermits(path, at-v.Clock.Err, at+v.Clock.Err), 1))
			}))
			v.index[path] = indexOf(v.Lanes[path], firsts)
		}
	}
	var tokens, created int
	for _, l := range d.Locks {
		for _, a := range l.Grants {
			if a.Token != 0 {
				tokens++
			}
			if len(v.index[a.Lock].createdBy(a.Token)) > 0 {
				created++
			}
		}
	}
	v.zxids = 2*created > tokens
	for _, l := range d.Locks {
		for _, a := range l.Grants {
			v.prove(a)
		}
	}
	return v
}

// SessionsUnsaid counts the grants of which the session is not known, because a lock's command did not say it.
func (d *Digest) SessionsUnsaid() (n int64) {
	for _, l := range d.Locks {
		for _, a := range l.Grants {
			if a.Session == 0 {
				n++
			}
		}
	}
	return n
}

// Stepped is the error beyond which it proves nothing that a transaction is placed within a call.
const Stepped = int64(100e6)

// DoubtedBecause says why the servers' logs may not be the whole truth.
func (t *Transactions) DoubtedBecause() []string {
	all := slices.Clone(t.Doubts)
	if t.Clock.Err > Stepped {
		all = append(all,
			fmt.Sprintf("the wall clock, by which the servers' transactions are placed, %s %s", t.Clock.How,
				Millis(t.Clock.Err)))
	}
	return all
}

// during reports whether a span may overlap the call of an acquire: the call is a closed interval, widened by the
// placement's error.
func (v *evidence) during(s *nodes.Span, a *history.Acquisition) bool {
	from, until := v.Clock.Times(s)
	return from-v.Clock.Err <= a.Returned && Later(until, v.Clock.Err) >= a.Invoked
}

// Contradiction returns a contradiction about the znode, or about the session and no znode in particular. What servers
// say about another znode of the session explains nothing about this one.
func (t *Transactions) Contradiction(session history.SessionID, path string) *Contradiction {
	for i := range t.Contradictions {
		if c := &t.Contradictions[i]; c.Path != "" && c.Path == path ||
			c.Path == "" && c.Session != 0 && c.Session == session {
			return c
		}
	}
	return nil
}

// ContradictionAt returns a contradiction about a znode that is due to the transaction of a number; nil if there is
// none. A znode that a client made by it then belongs to another transaction, as far as the servers tell.
func (t *Transactions) ContradictionAt(zxid int64) *Contradiction {
	for i := range t.Contradictions {
		if c := &t.Contradictions[i]; zxid != 0 && c.Zxid == zxid && c.Path != "" {
			return c
		}
	}
	return nil
}

// Zxid renders a transaction's number as ZooKeeper does.
func Zxid(z int64) string { return fmt.Sprintf("0x%x", uint64(z)) }
