package check

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

var (
	truthful  = flag.Int("truthful", 40, "how many truthful runs TestTruthfulRuns simulates of each workload")
	firstSeed = flag.Uint64("truthful-seed", 0, "the seed of the first of them")
)

// TestTruthfulRuns judges simulated runs of locks that keep their promises, on servers that keep sessions as ZooKeeper
// does, while clients are paused, killed, cut off and stand still, leaders change, sessions expire or are expired by an
// administrator, and answers get lost. Nobody is to be accused of anything, and the rate of verdicts that are unknown
// is logged.
// Overlaps and stale accesses are counted by their definitions as well.
func TestTruthfulRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("judges hundreds of runs")
	}
	for _, w := range truthfulWorkloads {
		t.Run(w.name, func(t *testing.T) {
			var unknown, overlaps, losses, late int64
			seeds := slices.Clone(w.seeds)
			for n := range *truthful {
				seeds = append(seeds, *firstSeed+uint64(n))
			}
			for _, seed := range seeds {
				s := newSimulation(w, seed)
				s.run()
				r := Run(history.NewLog(s.events), s.facts())
				for i := range r.Checks {
					if v := &r.Checks[i]; v.Violation {
						t.Errorf("seed %d: %s is accused:\n%s", seed, v.Name, describeVerdict(v, false))
					}
				}
				switch r.Overall() {
				case evidence.Fail:
					t.Errorf("seed %d:\n%s", seed, describeReport(&r))
				case evidence.Unknown:
					unknown++
					for i := range r.Checks {
						if v := &r.Checks[i]; v.Outcome() == evidence.Unknown {
							t.Logf("seed %d: %s is unknown: %s", seed, v.Name, v.Summary)
						}
					}
				}
				s.compareWithOracle(t, seed, &r.Safety)
				overlaps += *r.Safety.Overlaps
				losses += s.expired
				if n := r.Safety.LateAccepted; n != nil {
					late += *n
				}
			}
			t.Logf("%s: %d runs, %d unknown; %d overlaps, %d sessions ended, %d late accesses", w.name, len(seeds), unknown,
				overlaps, losses, late)
			if overlaps == 0 || losses == 0 {
				t.Error("the simulation never put the checks to the test")
			}
		})
	}
}

// A truthfulWorkload is what clients do, and what the record shows of it.
type truthfulWorkload struct {
	name    string
	recipe  string
	layout  nodes.Layout
	guard   string
	permits int
	locks   int // of which an acquisition takes one or several; 0 = one lock
	// unwatched says that clients have drivers that declare no pings, so that no standstill is recorded.
	unwatched bool
	resized   bool // the number of permits changes
	unlogged  bool // the servers' logs were not read
	// seeds are those of runs in which somebody was accused wrongly once.
	seeds []uint64
}

var truthfulWorkloads = []truthfulWorkload{
	{name: "mutex", recipe: "queue", layout: nodes.LayoutQueue,
		// A client stood still while it was cut off, and then read an answer from before both. In the other run, and on
		// several machines, a session ended as its client read a grant, by clocks that leave open which was first.
		seeds: []uint64{272, 20136}},
	{name: "mutex with a fence", recipe: "queue", layout: nodes.LayoutQueue, guard: evidence.GuardFencing},
	{name: "mutex without logs", recipe: "queue", layout: "none"},
	{name: "read-write", recipe: "queue", layout: nodes.LayoutReadWrite},
	{name: "mutex with data in ZooKeeper", recipe: "queue", layout: nodes.LayoutQueue, guard: evidence.GuardZKMulti,
		seeds: []uint64{500742}}, // a client stood still, was cut off, and went on to read its grant
	{name: "semaphore", recipe: "queue", layout: nodes.LayoutSemaphore, permits: 2},
	{name: "a semaphore that is resized", recipe: "queue", layout: nodes.LayoutSemaphore, permits: 2, resized: true,
		seeds: []uint64{9265}}, // two clients were granted a permit at once, and the one that had asked first was told last
	{name: "a semaphore that is resized, without logs", recipe: "queue", layout: nodes.LayoutSemaphore, permits: 2,
		resized: true, unlogged: true},
	{name: "multi-lock", recipe: "queue", layout: nodes.LayoutQueue, locks: 3},
	{name: "multi-lock with a fence", recipe: "queue", layout: nodes.LayoutQueue, locks: 3, guard: evidence.GuardFencing},
	{name: "a foreign lock without tokens", recipe: "opaque",
		seeds: []uint64{1290086}}, // a client stood still, and read its grant after the next holder had read its own
	{name: "an unwatched driver", recipe: "queue", layout: nodes.LayoutQueue, unwatched: true},
	{name: "an unwatched driver without a layout", recipe: "queue", unwatched: true},
	{name: "an unwatched driver without logs", recipe: "queue", layout: "none", unwatched: true},
	{name: "an unwatched driver without tokens", recipe: "opaque", unwatched: true},
	{name: "an unwatched driver of a semaphore", recipe: "queue", layout: nodes.LayoutSemaphore, permits: 2,
		unwatched: true},
}

// The time of a simulation goes on in steps.
const (
	simStep    = 5 * ms
	simEnd     = 60_000 * ms
	simTimeout = 6_000 * ms
	simTick    = 1_000 * ms
)

// A simulation is one run of a truthful lock.
type simulation struct {
	truthfulWorkload
	*rand.Rand
	now     int64
	events  []history.Event
	txns    []txnlog.Txn
	planned []evidence.PlannedFault
	clients []*simClient
	queue   []*simZnode // in the order of creation
	mail    []simMail
	fences  map[string]*effect.Fences
	values  map[string]int64 // of the locks' counters
	expired int64
	// versions is how many writes ZooKeeper executed, where it keeps the counters.
	versions map[string]int64

	down  int64 // until then there is no leader
	epoch int64
	limit int // the number of permits at present
	// unseen is the end of the last standstill of a driver that declares no pings.
	unseen int64
}

// A simMail is a message on its way to a server or the resource.
type simMail struct {
	at      int64
	deliver func()
}

// A simZnode is what a client queues or holds with.
type simZnode struct {
	lock    string
	path    string
	place   string // in a semaphore's queue
	session history.SessionID
	czxid   int64
	mode    history.Mode
	permits int
	granted bool
	owner   *simClient
}

// A simClient is a process with one client.
type simClient struct {
	*simulation
	host, name string
	session    history.SessionID
	dead       bool  // its process
	alive      bool  // its session, at the servers
	touched    int64 // when the leader last heard of it
	ping       int64 // when it is next due
	stood      int64 // since then its process does nothing; 0 if it works
	stopped    int64 // until then its process does nothing
	cut        int64 // until then the servers do not hear of it
	learns     int64 // when it will hear of the end of its session

	n       int64
	event   history.Event  // what the events of its acquisition have in common
	wants   []string       // the locks of its acquisition, in the order in which it takes them
	parts   []*simZnode    // of those locks, as far as it has asked for them
	granted bool           // the whole acquisition
	reads   []int64        // by lock
	freed   []history.Kind // by lock: the outcome of the release; Invoke until there is one
	znode   *simZnode
	next    int64 // when it does the next thing, once it is told what it waits for
	do      func()
	pending func() // what it asks of the servers again once it reaches them
	read    int64
	asked   history.Op // of data in ZooKeeper
	holds   bool
}

func newSimulation(w truthfulWorkload, seed uint64) *simulation {
	s := &simulation{truthfulWorkload: w, Rand: rand.New(rand.NewPCG(seed, 7)), fences: map[string]*effect.Fences{},
		values: map[string]int64{}, versions: map[string]int64{}, limit: w.permits}
	for i := range max(w.locks, 1) {
		lock := fmt.Sprintf("l%d", i+1)
		s.fences[lock], s.values[lock] = &effect.Fences{}, 0
	}
	s.record(history.Event{Process: "harness", Op: history.OpClock})
	s.record(history.Event{Process: "harness", Op: history.OpPhase, Detail: string(history.PhaseMeasure)})
	for i := range 3 + s.IntN(3) {
		c := &simClient{simulation: s, host: fmt.Sprintf("c%d", i+1)}
		c.name = c.host + "/0"
		s.clients = append(s.clients, c)
		if s.unwatched {
			e := history.Driver{Command: "lock", Scope: "per-client"}.Event()
			e.Process = c.host
			s.record(e)
		}
		c.connect()
		c.idle()
	}
	s.disturb()
	if s.resized {
		s.resize(1_000 * ms)
	}
	return s
}

// resize changes the number of permits from some instant on, from that with which the semaphore begins to one less and
// back.
func (s *simulation) resize(from int64) {
	later := func(do func()) { s.mail = append(s.mail, simMail{s.now + s.between(1, 30), do}) }
	say := func(e history.Event) {
		e.Process = "harness"
		s.record(e)
	}
	s.mail = append(s.mail, simMail{from, func() {
		if s.now < s.down {
			s.resize(s.down)
			return
		}
		permits := 2*s.permits - 1 - s.limit
		say(history.Resizing("l1", permits))
		later(func() {
			s.limit = permits
			s.grant()
			later(func() { say(history.Resized("l1", permits)) })
		})
		s.resize(s.now + s.between(2_000, 15_000))
	}})
}

func (s *simulation) record(e history.Event) {
	e.At = max(e.At, s.now)
	s.events = append(s.events, e)
}

// between draws a length of time.
func (s *simulation) between(least, most int64) int64 { return (least + s.Int64N(most-least)) * ms }

func (s *simulation) txn(t txnlog.Txn) int64 {
	t.Zxid, t.Time, t.Cxid = s.epoch<<32|int64(len(s.txns)+1), s.now/ms, max(t.Cxid, 0)
	s.txns = append(s.txns, t)
	return t.Zxid
}

// disturb plans what happens to processes: faults, and standstills without a fault.
func (s *simulation) disturb() {
	for i := range s.IntN(4) {
		c, id := s.clients[s.IntN(len(s.clients))], fmt.Sprintf("f%d", i+1)
		from, lasts := s.between(2_000, 40_000), s.between(100, 14_000)
		kind := []string{"pause", "pause", "partition", "expire-session", "kill", "kill"}[s.IntN(6)]
		plan := evidence.PlannedFault{ID: id, Kind: kind, Target: c.host}
		switch ofLeader := kind == "kill" && s.IntN(2) == 0; {
		case kind == "expire-session":
			lasts = 10 * ms
		case ofLeader:
			plan.Target, plan.Role = "zk1", evidence.RoleLeader
		}
		s.planned = append(s.planned, plan)
		e := history.Event{Process: "harness", Fault: id, Mode: history.Mode(kind), Target: plan.Target, Kind: history.OK}
		verified := e
		if s.IntN(20) == 0 {
			verified.Kind = history.Fail
		}
		say := func(e history.Event, at int64, op history.Op) { e.At, e.Op = at, op; s.record(e) }
		asked := e
		asked.Kind = history.Invoke
		say(asked, from-10*ms, history.OpFaultInject)
		say(e, from+5*ms, history.OpFaultInject)
		say(verified, from+50*ms, history.OpFaultVerify)
		say(e, from+lasts, history.OpFaultHeal)
		say(e, max(from+lasts, from+50*ms)+40*ms, history.OpFaultHealVerify)
		s.mail = append(s.mail, simMail{from, func() {
			for _, running := range s.clients { // the process that was started last
				if running.host == c.host {
					c = running
				}
			}
			switch {
			case kind == "pause":
				c.stand(from + lasts)
			case kind == "partition":
				c.cut = max(c.cut, from+lasts)
			case plan.Role == evidence.RoleLeader:
				s.elect()
			case kind == "kill":
				c.kill(from + lasts)
			default:
				c.end(1)
			}
		}})
	}
	for range s.IntN(4) {
		from, lasts := s.between(1_000, 45_000), s.between(20, []int64{100, 1_000, 11_000}[s.IntN(3)])
		who := s.clients[s.IntN(len(s.clients)):]
		if s.IntN(3) > 0 || s.unwatched {
			who = who[:1] // else the machine stands still for several of them, which the clients themselves record
		}
		s.mail = append(s.mail, simMail{from, func() {
			for _, c := range who {
				// Beside a fault of the client, which explains the end of a session by itself, a standstill that nobody saw
				// is no excuse. Nor are those of two drivers in one wait.
				struck := func(p evidence.PlannedFault) bool { return p.Target == c.host }
				if c.unwatched && (slices.ContainsFunc(c.planned, struck) || s.now < s.unseen+2*simTimeout) {
					continue
				}
				c.stand(from + lasts)
				s.unseen = max(s.unseen, from+lasts)
			}
		}})
	}
}

// elect replaces the leader. Until it is elected, the servers serve nobody, and then it gives each session a new
// timeout.
func (s *simulation) elect() {
	s.down = s.now + s.between(200, 2_000)
	s.epoch++
	for _, c := range s.clients {
		c.touched = s.down
	}
}

// kill ends a client's process. Its session lives on at the servers, until it expires. Another process of the same name
// is started later, which counts on.
func (c *simClient) kill(until int64) {
	if c.dead {
		return
	}
	c.dead = true
	c.record(history.Event{Process: c.host, Op: history.OpProcess, Mode: history.Mode(history.ProcessExited)})
	c.mail = append(c.mail, simMail{until, func() {
		c.record(history.Event{Process: c.host, Op: history.OpProcess, Mode: history.Mode(history.ProcessStarted)})
		next := &simClient{simulation: c.simulation, host: c.host, name: c.name, n: c.n + 1_000_000}
		c.clients = append(c.clients, next)
		next.connect()
		next.idle()
	}})
}

// stand stops a client's process, for longer if it is stopped already.
func (c *simClient) stand(until int64) {
	if c.stood == 0 {
		c.stood = c.now
	}
	c.stopped = max(c.stopped, until)
}

// wake records for how long the process stood still.
func (c *simClient) wake() {
	if c.stood != 0 && !c.unwatched {
		h := history.HiccupOf(c.now, time.Duration(c.now-c.stood))
		h.Process = c.host
		c.record(h)
	}
	c.stood = 0
}

func (s *simulation) run() {
	for ; s.now < simEnd; s.now += simStep {
		mail := s.mail
		s.mail = nil
		for _, m := range mail {
			if m.at <= s.now {
				m.deliver()
			} else {
				s.mail = append(s.mail, m)
			}
		}
		for _, c := range s.clients {
			if c.alive && s.now >= s.down && s.now >= ((c.touched+simTimeout)/simTick+1)*simTick {
				c.end(0)
			}
			c.step()
		}
	}
	end := func(op history.Op, detail string) {
		s.record(history.Event{Process: "harness", Op: op, Detail: detail})
	}
	end(history.OpPhase, string(history.PhaseDrain))
	end(history.OpPhase, string(history.PhaseCollect))
	end(history.OpEnd, string(history.EndComplete))
	slices.SortStableFunc(s.events, byTime)
}

func (s *simulation) facts() evidence.Facts {
	f := recipes[s.recipe]
	f.Permits, f.Guard, f.SessionTimeout, f.Tick, f.MinAcquired = s.permits, s.guard, time.Duration(simTimeout),
		time.Duration(simTick), 1
	f.Faults, f.Natures = s.planned, natures
	f.Expect = map[string]evidence.Expectation{evidence.BeliefExclusion: evidence.ExpectAny,
		evidence.Effect: evidence.ExpectAny}
	if s.guard != "" {
		f.Expect[evidence.Effect] = evidence.ExpectPass
	}
	f.FinalValues = s.values
	if s.guard == evidence.GuardZKMulti {
		f.FinalVersions = s.versions
	}
	if s.layout != "none" && !s.unlogged {
		f.Servers = &evidence.ServerLog{Layout: s.layout, Servers: []string{"zk1"}, Ensemble: []string{"zk1"},
			History: nodes.Replay(slices.Values(s.txns))}
	}
	return f
}

// end ends a client's session at the servers: it expires (0), or somebody closes it (1).
func (c *simClient) end(cxid int32) {
	if !c.alive {
		return
	}
	c.alive = false
	c.expired++
	c.txn(txnlog.Txn{Type: txnlog.CloseSession, Session: int64(c.session), Cxid: cxid})
	c.queue = slices.DeleteFunc(c.queue, func(z *simZnode) bool { return z.session == c.session })
	c.grant()
	c.learns = c.now + c.between(10, 1_500)
}

// connect gives a client a session.
func (c *simClient) connect() {
	c.session = history.SessionID(len(c.txns) + 1000)
	c.alive, c.touched, c.ping, c.learns = true, c.now, c.now+simTimeout/3, 0
	c.txn(txnlog.Txn{Type: txnlog.CreateSession, Session: int64(c.session), Cxid: 1, Timeout: time.Duration(simTimeout)})
	c.record(history.Event{Process: c.host, Client: c.name, Op: history.OpConnected, Target: "zk1", Session: c.session,
		At: c.now})
}

// heard notes that a server heard of the client, which the leader hears of within half a tick.
func (c *simClient) heard() {
	session := c.session
	c.mail = append(c.mail, simMail{c.now + c.Int64N(simTick/2), func() {
		if c.session == session {
			c.touched = c.now
		}
	}})
}

// ask sends a request to the servers, again and again until it reaches them.
func (c *simClient) ask(request func()) {
	session := c.session
	c.pending = nil
	if c.now < c.cut || c.now < c.down {
		c.pending = func() { c.ask(request) }
		return
	}
	c.mail = append(c.mail, simMail{c.now + c.between(1, 30), func() {
		if c.now < c.down && c.alive && c.session == session {
			c.pending = func() { c.ask(request) }
		} else if c.alive && c.session == session {
			c.heard()
			request()
		}
	}})
}

// then lets the client do something in a while.
func (c *simClient) then(in int64, do func()) { c.next, c.do = c.now+in, do }

func (c *simClient) step() {
	if c.dead || c.now < c.stopped {
		return
	}
	c.wake()
	if c.do != nil && c.now >= c.next {
		do := c.do
		c.do = nil
		do()
	}
	if c.now < c.cut {
		c.learns = max(c.learns, c.cut+c.between(10, 1_500))
		return
	}
	if !c.alive {
		if c.now >= c.learns {
			c.lost()
		}
		return
	}
	if c.now >= c.ping {
		c.ping = c.now + simTimeout/3
		c.heard()
	}
	if c.pending != nil {
		c.pending()
	}
}

// lost tells a client of the end of its session. A foreign lock says nothing of it to its client.
func (c *simClient) lost() {
	pending, z := c.pending != nil || c.do == nil, c.znode
	c.pending, c.znode = nil, nil
	if c.recipe == "opaque" && c.holds && !pending {
		c.connect() // and what the client does goes on
		return
	}
	switch {
	case c.event.Op == history.OpAcquire && z != nil && !c.holds || c.event.Op == history.OpAcquire && pending && !c.holds:
		c.sayOfAll(history.Fail, history.OpAcquire, 0)
	case c.event.Op == history.OpRelease && pending:
		for i := range c.wants {
			kind := history.Fail
			if c.freed[i] != history.Invoke {
				kind = history.Info // the error of the whole does not say that this part was released
			}
			c.of(i)
			c.say(kind, history.OpRelease, 0)
		}
	case c.holds:
		waits := pending && c.asked != "" // for an answer that will never come
		doing := c.event
		for i := range c.wants {
			c.of(i)
			e := c.event
			e.Op, e.Kind, e.At, e.Detail = history.OpLost, history.Info, c.now, "session expired"
			c.record(e)
		}
		c.event = doing
		do := c.do // it finishes what it is doing, and then finds its hold gone
		c.holds = false
		c.connect()
		c.do = do
		if waits {
			c.say(history.Info, c.asked, c.read+1)
			c.asked = ""
			c.release()
		}
		return
	}
	c.holds = false
	c.connect()
	c.idle()
}

// say records an event of the client's acquisition.
func (c *simClient) say(kind history.Kind, op history.Op, value int64) {
	e := c.event
	e.Kind, e.Op, e.Value, e.At = kind, op, value, c.now
	c.event.Op = op
	if e.Mode == history.ModePermit && op != history.OpAcquire && op != history.OpRelease {
		e.Target = c.slot()
	}
	c.record(e)
}

// of makes the client's next events those of one of the locks of its acquisition.
func (c *simClient) of(i int) {
	c.event.Lock, c.event.Token = c.wants[i], 0
	if c.granted && c.recipe != "opaque" {
		c.event.Token = c.parts[i].czxid
	}
}

// sayOfAll records an event of each lock of the client's acquisition.
func (c *simClient) sayOfAll(kind history.Kind, op history.Op, value int64) {
	for i := range c.wants {
		c.of(i)
		c.say(kind, op, value)
	}
}

// slot is the client's part of what the permits protect: no two clients share one.
func (c *simClient) slot() string { return string(history.NewSlot(int64(slices.Index(c.clients, c)))) }

func (c *simClient) idle() {
	c.holds, c.znode, c.event.Op = false, nil, ""
	if c.now < simEnd-15_000*ms {
		c.then(c.between(5, 800), c.acquire)
	}
}

func (c *simClient) acquire() {
	if !c.alive || c.now < c.cut {
		c.then(100*ms, c.acquire) // the recipe waits for its connection
		return
	}
	c.n++
	c.event = history.Event{Process: c.host, Client: c.name, Acq: c.n, Session: c.session}
	c.wants, c.parts, c.granted = []string{"l1"}, nil, false
	if c.locks > 0 {
		c.wants = slices.Sorted(maps.Keys(c.values))
		for range c.IntN(c.locks) {
			i := c.IntN(len(c.wants))
			c.wants = slices.Delete(c.wants, i, i+1)
		}
	}
	z := simZnode{permits: 1}
	switch c.layout {
	case nodes.LayoutReadWrite:
		z.mode = []history.Mode{history.ModeRead, history.ModeWrite}[c.IntN(2)]
	case nodes.LayoutSemaphore:
		z.mode, z.permits = history.ModePermit, 1+c.IntN(2)
	}
	c.event.Mode = z.mode
	c.sayOfAll(history.Invoke, history.OpAcquire, permitsOf(&z))
	c.enqueue(z)
}

// enqueue asks the servers for the next lock of the client's acquisition.
func (c *simClient) enqueue(like simZnode) {
	z := &simZnode{lock: c.wants[len(c.parts)], session: c.session, owner: c, mode: like.mode, permits: like.permits}
	c.znode, c.parts = z, append(c.parts, z)
	c.ask(func() {
		c.queue = append(c.queue, z)
		if c.layout == nodes.LayoutSemaphore {
			z.line()
		} else {
			z.create()
		}
		c.grant()
	})
}

func permitsOf(z *simZnode) int64 {
	if z.mode == history.ModePermit {
		return int64(z.permits)
	}
	return 0
}

// line creates the place of z in a semaphore's queue, which goes when it gets its permits.
func (z *simZnode) line() {
	n := len(z.owner.txns)
	z.place = fmt.Sprintf("%s/locks/_c_%032x-lock-%010d", z.lock, n, n)
	z.owner.txn(txnlog.Txn{Type: txnlog.Create2, Session: int64(z.session), Cxid: 1,
		Ops: []txnlog.Op{{Type: txnlog.Create2, Path: z.place, Ephemeral: true}}})
}

// create creates the znodes of z, one for each permit.
func (z *simZnode) create() {
	s := z.owner.simulation
	name := map[history.Mode]string{history.ModeRead: "__READ__", history.ModeWrite: "__WRIT__",
		history.ModePermit: "lease-"}[z.mode]
	if name == "" {
		name = "lock-"
	}
	dir := z.lock + "/"
	if z.mode == history.ModePermit {
		dir += "leases/"
	}
	t := txnlog.Txn{Type: txnlog.Multi, Session: int64(z.session), Cxid: 1}
	if z.place != "" {
		t.Ops = append(t.Ops, txnlog.Op{Type: txnlog.Delete, Path: z.place})
	}
	for i := range z.permits {
		z.path = fmt.Sprintf("%s_c_%032x-%s%010d", dir, len(s.txns)*10+i, name, len(s.txns)*10+i)
		t.Ops = append(t.Ops, txnlog.Op{Type: txnlog.Create2, Path: z.path, Ephemeral: true})
	}
	z.czxid = s.txn(t)
}

// delete deletes all znodes of z.
func (z *simZnode) delete() {
	s := z.owner.simulation
	t := txnlog.Txn{Type: txnlog.Multi, Session: int64(z.session), Cxid: 1}
	for _, o := range s.txns[z.czxid&math.MaxUint32-1].Ops {
		if o.Type == txnlog.Delete {
			continue
		}
		t.Ops = append(t.Ops, txnlog.Op{Type: txnlog.Delete, Path: o.Path})
	}
	s.txn(t)
}

// grant lets all clients know whose turn it is.
func (s *simulation) grant() {
	taken := 0
	for i, z := range s.queue {
		may := !slices.ContainsFunc(s.queue[:i], func(o *simZnode) bool { return o.lock == z.lock })
		switch z.mode {
		case history.ModeRead:
			may = !slices.ContainsFunc(s.queue[:i], func(o *simZnode) bool { return o.mode == history.ModeWrite })
		case history.ModePermit:
			may = z.granted || taken+z.permits <= s.limit
			taken += z.permits
		}
		if !may && z.mode == history.ModePermit {
			break // in turn
		}
		if may && !z.granted {
			z.granted = true
			if z.mode == history.ModePermit {
				z.create()
			}
			z.owner.tell(z)
		}
	}
}

// tell sends a client the word of its grant. A client that is cut off hears of it later, if its session lives.
func (c *simClient) tell(z *simZnode) {
	if c.now < c.cut {
		c.mail = append(c.mail, simMail{c.cut + c.between(10, 500), func() {
			if c.alive && c.session == z.session {
				c.tell(z)
			}
		}})
		return
	}
	c.then(c.between(1, 30), func() {
		if c.znode == z {
			c.granting(z)
		}
	})
}

// granting goes on with the next lock that the client wants. With the last one, it has them all.
func (c *simClient) granting(z *simZnode) {
	if len(c.parts) < len(c.wants) {
		c.enqueue(*z)
		return
	}
	c.holds, c.granted, c.reads = true, true, nil
	c.sayOfAll(history.OK, history.OpAcquire, permitsOf(z))
	c.look(0, z)
}

// look reads the counter of the i-th lock and those after it.
func (c *simClient) look(i int, z *simZnode) {
	c.of(i)
	c.use(history.OpEnter, func() {
		c.use(history.OpRead, func() {
			c.reads = append(c.reads, c.read)
			switch {
			case i+1 < len(c.wants):
				c.look(i+1, z)
			case z.mode == history.ModeRead || z.mode == history.ModePermit:
				c.release()
			default:
				c.then(c.between(5, 60), func() { c.write(0) })
			}
		})
	})
}

// write writes the counter of the i-th lock and those after it.
func (c *simClient) write(i int) {
	if i == len(c.wants) {
		c.release()
		return
	}
	c.of(i)
	c.read = c.reads[i]
	c.use(history.OpWrite, func() { c.write(i + 1) })
}

// use accesses the resource, whose answer is lost now and then, and goes on with then.
func (c *simClient) use(op history.Op, then func()) {
	value := c.read + 1
	if op != history.OpWrite {
		value = 0
	}
	if c.guard == evidence.GuardZKMulti {
		c.useZooKeeper(op, value, then)
		return
	}
	c.say(history.Invoke, op, value)
	e := c.event
	if e.Mode == history.ModePermit {
		e.Target = c.slot()
	}
	kind := history.OK
	c.mail = append(c.mail, simMail{c.now + c.between(1, 30), func() {
		served := e
		served.Process, served.At, served.Op, served.Kind, served.Value = "r1", c.now, op, history.OK, value
		fences := c.fences[e.Lock]
		if c.guard == evidence.GuardFencing && fences.Stale(&served) {
			served.Kind, kind = history.Fail, history.Fail
		} else {
			if op == history.OpWrite {
				c.values[e.Lock] = value
			}
			if op == history.OpRead {
				served.Value = c.values[e.Lock]
				value = c.values[e.Lock]
			}
			fences.Serve(&served)
		}
		c.record(served)
	}})
	c.then(c.between(35, 60), func() {
		if op == history.OpRead {
			c.read = value
		}
		if op == history.OpWrite && kind == history.OK && c.IntN(30) == 0 {
			kind = history.Info // the answer was lost
		}
		c.say(kind, op, value)
		then()
	})
}

// useZooKeeper does so with a counter in ZooKeeper, which a write changes only while the client's znode is there.
func (c *simClient) useZooKeeper(op history.Op, value int64, then func()) {
	if op == history.OpEnter {
		then()
		return
	}
	if op == history.OpWrite {
		c.say(history.Invoke, op, value)
	}
	c.asked, c.event.Op = op, op
	z := c.znode
	c.ask(func() {
		kind := history.OK
		switch there := slices.Contains(c.queue, z); {
		case op == history.OpRead:
			value, c.read = c.values[z.lock], c.values[z.lock]
		case there:
			c.values[z.lock] = value
			c.versions[z.lock]++
		default:
			kind = history.Fail
		}
		c.then(c.between(1, 30), func() {
			if op == history.OpWrite && kind == history.OK && c.IntN(30) == 0 {
				kind = history.Info // the answer was lost
			}
			c.asked = ""
			c.say(kind, op, value)
			then()
		})
	})
}

func (c *simClient) release() {
	c.sayOfAll(history.Invoke, history.OpRelease, 0)
	c.freed = slices.Repeat([]history.Kind{history.Invoke}, len(c.wants))
	switch {
	case c.recipe == "opaque" && c.session != c.parts[0].session:
		c.sayOfAll(history.OK, history.OpRelease, 0) // it says so though its znode was gone long ago
		c.idle()
	case !c.holds && c.recipe != "opaque": // it was told of the loss meanwhile
		c.sayOfAll(history.Fail, history.OpRelease, 0)
		c.idle()
	default:
		c.free(len(c.parts) - 1)
	}
}

// free releases the i-th lock and those before it.
func (c *simClient) free(i int) {
	if i < 0 {
		for i, kind := range c.freed {
			c.of(i)
			c.say(kind, history.OpRelease, 0)
		}
		c.idle()
		return
	}
	z := c.parts[i]
	if z.session != c.session { // which ended after other parts had been released
		c.freed[i] = history.Fail
		c.free(i - 1)
		return
	}
	c.ask(func() {
		c.queue = slices.DeleteFunc(c.queue, func(o *simZnode) bool { return o == z })
		z.delete()
		c.grant()
		kind := history.OK
		if c.IntN(30) == 0 {
			kind = history.Info
		}
		c.then(c.between(1, 30), func() {
			c.freed[i] = kind
			c.free(i - 1)
		})
	})
}
