package simulate

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/chaos"
	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/watch"
	"locklab/recipes/zktest"
	"locklab/recipes/zktest/sim"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// A Run is what came of one seed.
type Run struct {
	Recipe string
	Seed   uint64
	Events []history.Event
	Report check.Report
	// Acquired counts acquisitions, Sessions what their clients' sessions lasted together, Virtual the run.
	Acquired int64
	Sessions time.Duration
	Virtual  time.Duration
	// Expired counts the sessions that the servers expired, and LostHolds the holds whose clients learned of a loss.
	Expired, LostHolds int
	// Faults counts those that struck, by kind.
	Faults map[string]int

	txns []zktest.Transaction
	// plan is that of the run, with what turned out while it lasted: whom faults struck, and when turns began.
	plan *plan
}

// A simulation is a run that is under way.
type simulation struct {
	*plan
	w        *sim.World
	servers  *zktest.Ensemble
	resource *resource.Resource
	clients  []*client
	strike   []*strike
	rec      *record
	known    []evidence.PlannedFault
	busy     map[*sim.Host]int
	struck   map[string]int
	stood    map[string]time.Duration // since when hosts of a scene stand still
	acquired atomic.Int64
	running  atomic.Int64 // goroutines of clients that have not ended
	scene    *scene       // nil if a seed decides what happens
}

// epoch is when worlds begin, in ms.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli()

// Seed runs one seed of a recipe, with or without faults.
func Seed(r lock.Recipe, seed uint64, faults bool) *Run { return execute(newPlan(r, seed, faults)) }

// execute carries out a plan.
func execute(p *plan) *Run {
	s := &simulation{plan: p, busy: map[*sim.Host]int{}, struck: map[string]int{}}
	run := &Run{Recipe: p.recipe.Name, Seed: p.seed, Faults: s.struck}
	sim.Run(p.draws, func(w *sim.World) {
		if s.w, s.rec = w, (&record{w: w}); p.forks > 0 {
			w.Fork(p.forks, p.fork)
		}
		s.servers = zktest.NewEnsemble(w, zktest.EnsembleConfig{Servers: servers, Tick: s.tick, Delay: s.delay,
			Disk: s.disk, Reap: s.reap})
		s.resource = resource.New(s.guard.Fences, s.rec)
		s.rec.harness(history.WallClock{Wall: epoch * 1e6}.Event(0))
		for i := range s.plan.clients {
			c := s.newClient(i, fmt.Sprintf("c%d/0", i+1))
			s.clients = append(s.clients, c)
			if p.turns == nil || len(p.turns[i]) > 0 {
				s.running.Add(1)
				go c.run(time.Duration(i+1) * 3 * time.Millisecond)
			}
		}
		s.rec.harness(history.PhaseBegins(0, history.PhaseMeasure))
		s.strikes()
		w.Until(s.stop)
		s.rec.harness(history.PhaseBegins(0, history.PhaseDrain))
		w.Until(s.stop + 15*time.Second)
		s.rec.harness(history.PhaseBegins(0, history.PhaseCollect))
		s.rec.harness(history.Ends(history.EndComplete, ""))
		run.txns, run.Virtual = s.servers.Transactions(), w.Now()
		run.Events = s.rec.close()
		for i, c := range s.clients {
			w.After(time.Duration(i+1)*time.Millisecond, nil, c.cancel)
		}
		// What a lock or a session has left to do may take some timeouts.
		for s.running.Load() > 0 && w.Now() < s.stop+10*time.Minute {
			w.Until(w.Now() + time.Second)
		}
		w.Until(w.Now() + time.Minute)
	})
	run.Acquired, run.Expired = s.acquired.Load(), s.servers.Expired
	run.plan = s.resolved()
	run.Report = check.Run(history.NewLog(run.Events), s.facts(run.txns))
	run.Sessions = time.Duration(s.plan.clients) * run.Virtual
	for _, e := range run.Events {
		if e.Op == history.OpLost {
			run.LostHolds++
		}
	}
	return run
}

// resolved returns the plan with what has turned out.
func (s *simulation) resolved() *plan {
	p := *s.plan
	p.faults, p.turns = nil, nil
	for _, x := range s.strike {
		f := x.planned
		f.holder, f.waiter = false, false
		p.faults = append(p.faults, f)
	}
	for _, c := range s.clients {
		p.turns = append(p.turns, c.begun)
	}
	return &p
}

// facts returns what the checks need to know besides the history.
func (s *simulation) facts(txns []zktest.Transaction) evidence.Facts {
	f := evidence.Facts{Tokens: s.recipe.Tokens, Queue: s.recipe.Queue, Exclusive: s.recipe.Exclusive,
		Guard: s.guard.Name, SessionTimeout: s.timeout, Tick: s.tick, Clients: s.plan.clients, MinAcquired: 1,
		Faults: s.known, Natures: chaos.Natures(), Progress: s.wait == 0, Recovers: len(s.known) > 0,
		Expect: map[string]evidence.Expectation{evidence.BeliefExclusion: evidence.ExpectAny,
			evidence.Effect: evidence.ExpectAny}}
	if s.guard.Name == guard.Fencing {
		f.Expect[evidence.Effect] = evidence.ExpectPass
	}
	if s.permits > 1 || s.recipe.Layout == nodes.LayoutSemaphore {
		f.Permits = s.permits
	}
	var names []string
	for _, h := range s.servers.Servers() {
		names = append(names, h.Name)
	}
	if s.recipe.Layout != "" {
		f.Servers = &evidence.ServerLog{Layout: s.recipe.Layout, Servers: names, Ensemble: names,
			History: nodes.Replay(func(yield func(txnlog.Txn) bool) {
				for i := range txns {
					if !yield(logged(&txns[i])) {
						return
					}
				}
			})}
	}
	return f
}

// logged returns a transaction as a server's log has it.
func logged(t *zktest.Transaction) txnlog.Txn {
	x := txnlog.Txn{Zxid: t.Zxid, Session: t.Session, Cxid: t.Cxid, Time: t.Time, Type: txnlog.Multi}
	switch {
	case t.Refused:
		x.Type, x.Ops = txnlog.Error, []txnlog.Op{{Type: txnlog.Error}}
		return x
	case t.Opens > 0:
		x.Type, x.Timeout = txnlog.CreateSession, t.Opens
		return x
	case t.Closes:
		x.Type, x.Closes = txnlog.CloseSession, []string{}
		for _, c := range t.Changes {
			x.Closes = append(x.Closes, c.Path)
		}
		return x
	}
	for _, c := range t.Changes {
		typ := map[zktest.Op]txnlog.Type{zktest.OpCreate: txnlog.Create2, zktest.OpDelete: txnlog.Delete,
			zktest.OpSetData: txnlog.SetData, zktest.OpSetACL: txnlog.SetACL}[c.Op]
		if typ == txnlog.Create2 && !c.Ephemeral {
			typ = txnlog.CreateContainer
		}
		x.Ops = append(x.Ops, txnlog.Op{Type: typ, Path: c.Path, Ephemeral: c.Ephemeral, Data: c.Data, ACL: openToAll,
			ParentCVersion: -1})
	}
	if !t.Multi {
		x.Type = x.Ops[0].Type
	}
	return x
}

// openToAll is what logs have as each znode's access control list.
var openToAll = txnlog.OpenToAll()

// Hash returns the hash of all that happened: what clients did and learned, and what the servers committed.
func (r *Run) Hash() uint64 {
	h := fnv.New64a()
	for _, e := range r.Events {
		fmt.Fprintln(h, e)
	}
	for _, t := range r.txns {
		fmt.Fprintln(h, t)
	}
	return h.Sum64()
}

// A record is the history of a run.
type record struct {
	w      *sim.World
	base   int64       // when the world began, by the clock of the run
	view   *watch.View // hears of each event; nil = nobody does
	mu     sync.Mutex
	events []history.Event
	over   bool // nothing more is recorded
}

// lane orders the events of one host at one instant. At most one host acts then, but several of its goroutines may. The
// events of each have a lane of their own, so that the order of the record does not depend on the scheduler.
func lane(op history.Op) int {
	switch op {
	case history.OpConnected, history.OpDisconnected, history.OpExpired, history.OpHiccup:
		return 0
	case history.OpLost:
		return 1
	case history.OpQueued:
		return 2
	}
	return 3
}

// at records an event of a process.
func (r *record) at(now time.Duration, process string, e history.Event) {
	e.Process, e.At = process, r.base+int64(now)
	r.add(e)
}

// add records an event that has a time.
func (r *record) add(e history.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.events = append(r.events, e)
	if r.view != nil {
		r.view.Hear(e)
	}
}

// harness records an event of the harness, from the kernel.
func (r *record) harness(e history.Event) { r.at(r.w.Now(), rundir.HarnessHost, e) }

// Record implements [resource.Recorder].
func (r *record) Record(e history.Event) error {
	r.at(r.w.Now(), "r1", e)
	return nil
}

// close ends the record and returns it.
func (r *record) close() []history.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	slices.SortStableFunc(r.events, func(a, b history.Event) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Process, b.Process), cmp.Compare(lane(a.Op), lane(b.Op)))
	})
	return r.events
}
