package reports

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"locklab/harness/check"
	"locklab/harness/history"
)

// A synth builds a history by hand. Times are milliseconds of the run.
type synth struct {
	events []history.Event
	tokens int64
}

const theLock = "/locks/0"

func ms(v float64) int64 { return int64(v * 1e6) }

func (s *synth) add(at float64, e history.Event) {
	e.At = ms(at)
	if e.Process == "" {
		e.Process, _, _ = strings.Cut(e.Client, "/")
	}
	if e.Process == "" {
		e.Process = "harness"
	}
	s.events = append(s.events, e)
}

func (s *synth) phase(at float64, name string) {
	s.add(at, history.Event{Op: history.OpPhase, Detail: name})
}

func (s *synth) connect(at float64, client string, session history.SessionID) {
	s.add(at, history.Event{Op: history.OpConnected, Client: client, Session: session, Value: int64(2 * time.Second), Target: "zk1"})
}

// An acq is one acquisition to be written down.
type acq struct {
	client          string
	n               int64
	session         history.SessionID
	token           int64
	lock            string
	invoke, granted float64
	release         float64 // 0 = never
	releaseFails    bool
	mode            string
	permits, slot   int64
}

func (s *synth) acquire(a acq) {
	lock := cmp.Or(a.lock, theLock)
	e := history.Event{Client: a.client, Acq: a.n, Lock: lock, Mode: a.mode}
	with := func(op string, kind history.Kind, token int64) history.Event {
		x := e
		x.Op, x.Kind, x.Token = op, kind, token
		if token != 0 {
			x.Session = a.session
		}
		if op == history.OpAcquire {
			x.Value = a.permits
		}
		return x
	}
	s.add(a.invoke, with(history.OpAcquire, history.Invoke, 0))
	s.add(a.invoke+1, with(history.OpQueued, history.Info, 0))
	if a.granted == 0 {
		return
	}
	s.add(a.granted, with(history.OpAcquire, history.OK, a.token))
	if a.release != 0 {
		s.add(a.release, with(history.OpRelease, history.Invoke, a.token))
		kind := history.OK
		if a.releaseFails {
			kind = history.Fail
		}
		s.add(a.release+1.2, with(history.OpRelease, kind, a.token))
	}
}

// use records one access at the client and at the resource.
func (s *synth) use(at float64, a acq, op string, ok bool, value int64) {
	e := history.Event{Client: a.client, Acq: a.n, Lock: cmp.Or(a.lock, theLock), Op: op, Token: a.token, Value: value, Mode: a.mode}
	if a.mode == history.ModePermit {
		e.Target = history.Slot(a.slot)
	}
	kind := history.OK
	if !ok {
		kind = history.Fail
	}
	e.Kind = history.Invoke
	s.add(at-0.3, e)
	e.Kind = kind
	s.add(at+0.3, e)
	e.Process = "r1"
	s.add(at, e)
}

func (s *synth) held(at float64, session history.SessionID, token int64) {
	s.add(at, history.Event{Process: "harness", Op: history.OpHeld, Lock: theLock, Session: session, Token: token})
}

func (s *synth) fault(id, kind, target string, inject, heal float64) {
	e := history.Event{Fault: id, Mode: kind, Target: target}
	at := func(t float64, op string, k history.Kind) {
		x := e
		x.Op, x.Kind = op, k
		s.add(t, x)
	}
	at(inject-2, history.OpFaultInject, history.Invoke)
	at(inject, history.OpFaultInject, history.OK)
	at(inject+3, history.OpFaultVerify, history.OK)
	at(heal, history.OpFaultHeal, history.OK)
	at(heal+3, history.OpFaultHealVerify, history.OK)
}

func (s *synth) sorted() []history.Event {
	slices.SortStableFunc(s.events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return s.events
}

// act2 is the demonstration: A gets the lock at 1.0 s and reads, is stopped at
// 1.01 s with a session timeout of 2 s, B gets the lock at 3.3 s, others follow,
// A goes on at 3.9 s and writes what it worked out from an old value.
func act2(fenced bool) []history.Event {
	s := &synth{}
	s.phase(0, history.PhaseEnsemble)
	s.phase(100, history.PhaseConnect)
	for i := range 5 {
		s.connect(200+float64(i), fmt.Sprintf("c%d/1", i+1), history.SessionID(0x100+i))
	}
	s.phase(400, history.PhaseMeasure)
	warm := []acq{
		{client: "c2/1", n: 1, token: 11, session: 0x101, invoke: 420, granted: 440, release: 520},
		{client: "c3/1", n: 1, token: 12, session: 0x102, invoke: 425, granted: 525, release: 640},
		{client: "c4/1", n: 1, token: 13, session: 0x103, invoke: 430, granted: 645, release: 760},
		{client: "c5/1", n: 1, token: 14, session: 0x104, invoke: 435, granted: 764, release: 990},
	}
	v := int64(0)
	for _, a := range warm {
		s.acquire(a)
		s.held(a.granted-1, a.session, a.token)
		s.use(a.granted+10, a, history.OpRead, true, v)
		v++
		s.use(a.granted+60, a, history.OpWrite, true, v)
	}
	victim := acq{client: "c1/1", n: 1, token: 15, session: 0x100, invoke: 500, granted: 1000, release: 3930, releaseFails: true}
	s.acquire(victim)
	s.held(999, victim.session, victim.token)
	s.use(1005, victim, history.OpRead, true, v)
	s.add(1008, history.Event{Op: history.OpTrigger, Client: "c1/1", Lock: theLock, Acq: 1, Fault: "f1", Detail: "before-write"})
	s.add(1010, history.Event{Process: "c1", Op: history.OpProcess, Mode: history.ProcessStopped})
	s.fault("f1", "pause", "c1", 1010, 3900)
	s.add(3900, history.Event{Process: "c1", Op: history.OpProcess, Mode: history.ProcessContinued})
	later := []acq{
		{client: "c2/1", n: 2, token: 16, session: 0x101, invoke: 560, granted: 3300, release: 3420},
		{client: "c3/1", n: 2, token: 17, session: 0x102, invoke: 700, granted: 3424, release: 3560},
		{client: "c4/1", n: 2, token: 18, session: 0x103, invoke: 800, granted: 3565, release: 3700},
		{client: "c5/1", n: 2, token: 19, session: 0x104, invoke: 1030, granted: 3704, release: 3850},
		{client: "c2/1", n: 3, token: 20, session: 0x101, invoke: 3450, granted: 3855, release: 4000},
		{client: "c3/1", n: 3, token: 21, session: 0x102, invoke: 3600, granted: 4004, release: 4140},
		{client: "c4/1", n: 3, token: 22, session: 0x103, invoke: 3750, granted: 4145, release: 4290},
		{client: "c5/1", n: 3, token: 23, session: 0x104, invoke: 3900, granted: 4295, release: 4420},
	}
	s.held(3296, 0x101, 16)
	for i, a := range later {
		s.acquire(a)
		if i > 0 {
			s.held(a.granted-1, a.session, a.token)
		}
		s.use(a.granted+20, a, history.OpRead, true, v)
		v++
		s.use(a.granted+80, a, history.OpWrite, true, v)
	}
	s.use(3912, victim, history.OpWrite, !fenced, 5)
	s.add(3925, history.Event{Op: history.OpLost, Client: "c1/1", Lock: theLock, Acq: 1, Detail: "session expired"})
	s.add(3924, history.Event{Op: history.OpExpired, Client: "c1/1", Session: 0x100, Detail: "session expired"})
	s.held(4421, 0, 0)
	s.phase(4500, history.PhaseDrain)
	s.phase(4600, history.PhaseCollect)
	s.add(4700, history.Event{Op: history.OpEnd, Detail: history.EndComplete})
	return s.sorted()
}

// busy is a saturated run of n clients, 8 a process, on one lock, with a cut of
// one process and a kill of a server.
func busy(n int, seconds float64, withFaults bool) []history.Event {
	rng := rand.New(rand.NewPCG(1, 2))
	s := &synth{}
	s.phase(0, history.PhaseEnsemble)
	s.phase(1000, history.PhaseConnect)
	s.phase(2000, history.PhaseWarmup)
	s.phase(4000, history.PhaseMeasure)
	end := 4000 + seconds*1000
	type waiter struct {
		client  int
		invoked float64
	}
	var queue []waiter
	for i := range n {
		s.connect(1500, clientName(i), history.SessionID(0x1000+i))
		queue = append(queue, waiter{i, 2000 + float64(i)*0.5})
	}
	number := make([]int64, n)
	now := 2100.0
	for len(queue) > 0 && now < end+100 {
		w := queue[0]
		queue = queue[1:]
		now = max(now, w.invoked+2)
		if withFaults && now > 9000 && now < 9000+300 {
			now = 11400 // a server is down, its leader is elected anew
		}
		s.tokens++
		number[w.client]++
		hold := 2 + rng.ExpFloat64()*3
		a := acq{client: clientName(w.client), n: number[w.client], session: history.SessionID(0x1000 + w.client), token: s.tokens,
			invoke: w.invoked, granted: now, release: now + hold}
		s.acquire(a)
		s.held(now-0.5, a.session, a.token)
		s.use(now+0.5, a, history.OpRead, true, s.tokens-1)
		s.use(now+1, a, history.OpWrite, true, s.tokens)
		now += hold + 1.5 + rng.ExpFloat64()*0.6
		if again := now + rng.ExpFloat64()*2; again < end {
			queue = append(queue, waiter{w.client, again})
		}
	}
	if withFaults {
		s.fault("f1", "kill", "zk2", 9000, 14000)
		s.fault("f2", "partition", "c3", 15500, 17000)
	}
	s.phase(end, history.PhaseDrain)
	s.phase(end+400, history.PhaseCollect)
	s.add(end+500, history.Event{Op: history.OpEnd, Detail: history.EndComplete})
	return s.sorted()
}

func clientName(i int) string { return fmt.Sprintf("c%d/%d", i/8+1, i%8+1) }

// input judges a history with the real checks.
func input(events []history.Event, facts check.Facts, meta Meta) Input {
	acq := history.Acquisitions(events)
	rep := check.Run(events, facts)
	return Input{Events: events, Acquisitions: acq, Report: rep, Result: Summarize(events, acq, rep, meta), Meta: meta}
}

func act2Input(fenced bool) Input {
	guard := "none"
	if fenced {
		guard = check.GuardFencing
	}
	facts := check.Facts{Tokens: true, Queue: true, Exclusive: true, Guard: guard, SessionTimeout: 2 * time.Second, Tick: 500 * time.Millisecond,
		Expect: map[string]check.Expectation{check.BeliefExclusion: check.ExpectFail, check.Effect: check.ExpectFail}, MinAcquired: 5,
		Faults: []check.PlannedFault{{ID: "f1", Kind: "pause", Target: "c1", HitsHolder: true}}}
	if fenced {
		facts.Expect[check.Effect] = check.ExpectPass
	}
	return input(act2(fenced), facts, Meta{Scenario: "paused-holder", About: "A client is stopped while it holds the lock, for longer than its session lives.",
		Lab: "netns", Recipe: "mutex", Guard: guard, Seed: 7, Clients: 5, Processes: 5, Locks: 1, SessionTimeout: 2 * time.Second,
		Tick: 500 * time.Millisecond, Storage: "tmpfs", ZooKeeper: "3.8.0", Servers: 3, Drain: "finish", ClosedLoop: true,
		Environment: map[string]string{"kernel": "6.1", "cpus": "4"}})
}

func busyInput(n int, seconds float64, withFaults bool) Input {
	return input(busy(n, seconds, withFaults), check.Facts{Tokens: true, Queue: true, Exclusive: true, Guard: "none", SessionTimeout: 4 * time.Second, Tick: time.Second},
		Meta{Scenario: "contended", Lab: "docker", Recipe: "mutex", Guard: "none", Seed: 1, Clients: n, Processes: (n + 7) / 8, Locks: 1,
			SessionTimeout: 4 * time.Second, Tick: time.Second, Storage: "disk", ZooKeeper: "3.8.0", Servers: 3, Drain: "finish", ClosedLoop: true})
}

// stormInput is a run with faults every second, and waits that time out.
func stormInput() Input {
	s := &synth{events: busy(24, 20, false)}
	for i := range 9 {
		from := 5000 + float64(i)*2000
		s.fault(fmt.Sprintf("f%d", i), []string{"pause", "kill", "partition"}[i%3], []string{"c1", "zk2", "zk1,zk3"}[i%3], from, from+900)
	}
	for i := range 40 {
		a := acq{client: fmt.Sprintf("c9/%d", i%3+1), n: int64(i + 1), invoke: 4100 + float64(i)*400}
		s.acquire(a)
		s.add(a.invoke+300, history.Event{Client: a.client, Acq: a.n, Lock: theLock, Op: history.OpAcquire, Kind: history.Fail, Detail: "context deadline exceeded"})
	}
	return input(s.sorted(), check.Facts{Exclusive: true, Tokens: true}, Meta{Scenario: "storm"})
}

// unlockedInput is a run without any lock at all: everybody holds at once.
func unlockedInput() Input {
	s := &synth{}
	rng := rand.New(rand.NewPCG(3, 4))
	s.phase(0, history.PhaseMeasure)
	for c := range 8 {
		at := 10 + rng.Float64()*10
		for n := int64(1); at < 1500; n++ {
			hold := 3 + rng.ExpFloat64()*10
			a := acq{client: clientName(c), n: n, invoke: at, granted: at + 0.2, release: at + hold}
			s.acquire(a)
			s.use(at+1, a, history.OpRead, true, n)
			s.use(at+hold-1, a, history.OpWrite, true, n)
			at += hold + 20 + rng.ExpFloat64()*20
		}
	}
	s.phase(1600, history.PhaseDrain)
	return input(s.sorted(), check.Facts{Expect: map[string]check.Expectation{check.BeliefExclusion: check.ExpectFail}}, Meta{Scenario: "unlocked", Recipe: "none"})
}

// sharedRun is a run with a fault in which c1 is stopped from 1.01 s to 3.9 s while
// it holds what the others then get.
func sharedRun(all []acq, victim acq, op string) []history.Event {
	s := &synth{}
	s.phase(100, history.PhaseConnect)
	for i := range 5 {
		s.connect(200+float64(i), fmt.Sprintf("c%d/1", i+1), history.SessionID(0x100+i))
	}
	s.phase(400, history.PhaseMeasure)
	v := int64(0)
	for _, a := range append(all, victim) {
		var process int
		fmt.Sscanf(a.client, "c%d/1", &process)
		a.session = history.SessionID(0x100 + process - 1)
		s.acquire(a)
		s.use(a.granted+5, a, history.OpRead, true, v)
		if a.mode != history.ModeRead && a.client != victim.client {
			v++
			s.use(a.granted+60, a, history.OpWrite, true, v)
		}
	}
	s.add(1010, history.Event{Process: "c1", Op: history.OpProcess, Mode: history.ProcessStopped})
	s.fault("f1", "pause", "c1", 1010, 3900)
	s.add(3900, history.Event{Process: "c1", Op: history.OpProcess, Mode: history.ProcessContinued})
	s.use(3912, victim, op, true, 5)
	s.add(3925, history.Event{Op: history.OpLost, Client: "c1/1", Lock: theLock, Acq: 1, Detail: "session expired"})
	s.phase(4500, history.PhaseDrain)
	s.phase(4600, history.PhaseCollect)
	s.add(4700, history.Event{Op: history.OpEnd, Detail: history.EndComplete})
	return s.sorted()
}

func sharedInput(events []history.Event, permits int, scenario string) Input {
	return input(events, check.Facts{Tokens: true, Queue: true, Exclusive: true, Permits: permits, Guard: "none", SessionTimeout: 2 * time.Second, Tick: 500 * time.Millisecond,
		Expect: map[string]check.Expectation{check.BeliefExclusion: check.ExpectFail, check.Effect: check.ExpectAny}, MinAcquired: 5,
		Faults: []check.PlannedFault{{ID: "f1", Kind: "pause", Target: "c1", HitsHolder: true}}},
		Meta{Scenario: scenario, Recipe: "rw", Guard: "none", Seed: 7, Clients: 5, Processes: 5, Locks: 1, SessionTimeout: 2 * time.Second})
}

// readWriteInput: c1 is stopped while it writes; readers, a writer and readers
// follow.
func readWriteInput() Input {
	r, w := history.ModeRead, history.ModeWrite
	return sharedInput(sharedRun([]acq{
		{mode: r, client: "c2/1", n: 1, token: 11, invoke: 420, granted: 440, release: 800},
		{mode: r, client: "c3/1", n: 1, token: 12, invoke: 425, granted: 445, release: 640},
		{mode: r, client: "c4/1", n: 1, token: 13, invoke: 430, granted: 450, release: 990},
		{mode: r, client: "c2/1", n: 2, token: 16, invoke: 900, granted: 3300, release: 3420},
		{mode: r, client: "c3/1", n: 2, token: 17, invoke: 910, granted: 3304, release: 3500},
		{mode: r, client: "c4/1", n: 2, token: 18, invoke: 1000, granted: 3308, release: 3560},
		{mode: w, client: "c5/1", n: 1, token: 19, invoke: 1030, granted: 3565, release: 3750},
		{mode: r, client: "c2/1", n: 3, token: 20, invoke: 3450, granted: 3755, release: 4100},
		{mode: r, client: "c3/1", n: 3, token: 21, invoke: 3600, granted: 3759, release: 4040},
	}, acq{mode: w, client: "c1/1", n: 1, token: 15, invoke: 500, granted: 1000, release: 3930, releaseFails: true}, history.OpWrite), 0, "read-write")
}

// semaphoreInput: of two permits c1 has one when it is stopped; two others have
// both in the end.
func semaphoreInput() Input {
	p := history.ModePermit
	return sharedInput(sharedRun([]acq{
		{mode: p, client: "c2/1", n: 1, token: 11, slot: 0, invoke: 420, granted: 440, release: 800},
		{mode: p, client: "c3/1", n: 1, token: 12, slot: 1, invoke: 425, granted: 445, release: 990},
		{mode: p, client: "c4/1", n: 1, token: 13, slot: 0, invoke: 430, granted: 805, release: 1700},
		{mode: p, client: "c5/1", n: 1, token: 16, slot: 0, invoke: 900, granted: 1705, release: 2500},
		{mode: p, client: "c2/1", n: 2, token: 17, slot: 0, invoke: 1000, granted: 2504, release: 3500},
		{mode: p, client: "c3/1", n: 2, token: 18, slot: 1, invoke: 1010, granted: 3304, release: 3700},
		{mode: p, client: "c4/1", n: 2, token: 19, slot: 0, invoke: 1800, granted: 3510, release: 4100},
		{mode: p, client: "c5/1", n: 2, token: 20, slot: 1, invoke: 2600, granted: 3705, release: 4200},
	}, acq{mode: p, client: "c1/1", n: 1, token: 15, slot: 1, invoke: 500, granted: 1000, release: 3930, releaseFails: true}, history.OpWrite), 2, "semaphore")
}
