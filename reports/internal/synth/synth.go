package synth

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/harness/check"
	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/workloads"
)

// A Synth builds a history by hand. Times are milliseconds of the run.
type Synth struct {
	events []history.Event
	tokens int64
}

const TheLock = "/locks/0"

// Ms is a time of a history, in nanoseconds, from milliseconds.
func Ms(v float64) int64 { return int64(v * 1e6) }

// Add adds an event.
func (s *Synth) Add(at float64, e history.Event) {
	e.At = Ms(at)
	if e.Process == "" {
		e.Process = history.HostOf(e.Client)
	}
	if e.Process == "" {
		e.Process = "harness"
	}
	s.events = append(s.events, e)
}

// Without removes the readings of a host's processor time.
func (s *Synth) Without(host string) {
	s.events = slices.DeleteFunc(s.events, func(e history.Event) bool {
		return e.Op == history.OpProcessorTime && e.Target == host
	})
}

// Phase begins a phase.
func (s *Synth) Phase(at float64, phase history.Phase) {
	s.Add(at, history.PhaseBegins(0, phase))
}

func (s *Synth) connect(at float64, client string, session history.SessionID) {
	s.Add(at, history.SessionChange{Op: history.OpConnected, Client: client, Session: session,
		Timeout: 2 * time.Second, Server: "zk1"}.Event())
}

// An Acq is an acquisition to add to a history.
type Acq struct {
	Client          string
	N               int64
	session         history.SessionID
	Token           int64
	lock            string
	Invoke, Granted float64
	Release         float64 // 0 = never
	releaseFails    bool
	mode            history.Mode
	permits, slot   int64
}

// Acquire adds an acquisition.
func (s *Synth) Acquire(a Acq) {
	lock := cmp.Or(a.lock, TheLock)
	claim := history.Claim{Client: a.Client, Acq: a.N, Lock: lock, Mode: a.mode, Permits: a.permits}
	s.Add(a.Invoke, claim.Acquire())
	s.Add(a.Invoke+1, claim.Queued(0))
	if a.Granted == 0 {
		return
	}
	if claim.Token = a.Token; a.Token != 0 {
		claim.Session = a.session
	}
	s.Add(a.Granted, claim.Granted())
	if a.Release != 0 {
		s.Add(a.Release, claim.Release())
		kind := history.OK
		if a.releaseFails {
			kind = history.Fail
		}
		s.Add(a.Release+1.2, claim.Released(kind, ""))
	}
}

// use adds one access, as recorded by the client and by the resource.
func (s *Synth) use(at float64, a Acq, op history.Op, ok bool, value int64) {
	claim := history.Claim{Client: a.Client, Acq: a.N, Lock: cmp.Or(a.lock, TheLock), Token: a.Token, Mode: a.mode}
	access := history.Access{Value: value, Slot: history.NewSlot(a.slot)}
	kind := history.OK
	if !ok {
		kind = history.Fail
	}
	s.Add(at-0.3, claim.Access(op, history.Invoke, access))
	s.Add(at+0.3, claim.Access(op, kind, access))
	served := claim.Access(op, kind, access)
	served.Process = "r1"
	s.Add(at, served)
}

func (s *Synth) held(at float64, session history.SessionID, token int64) {
	s.Add(at, history.QueueHead(TheLock, session, token))
}

// Fault adds a fault, from its injection to its healing.
func (s *Synth) Fault(id, kind, target string, inject, heal float64) {
	at := func(t float64, op history.Op, k history.Kind) {
		s.Add(t, history.FaultStep{Op: op, ID: id, Fault: kind, Hosts: []string{target}}.Event(k))
	}
	at(inject-2, history.OpFaultInject, history.Invoke)
	at(inject, history.OpFaultInject, history.OK)
	at(inject+3, history.OpFaultVerify, history.OK)
	at(heal, history.OpFaultHeal, history.OK)
	at(heal+3, history.OpFaultHealVerify, history.OK)
}

// Sorted returns the events in the order of time.
func (s *Synth) Sorted() []history.Event {
	slices.SortStableFunc(s.events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	return s.events
}

// act2 is the history of the demonstration. A gets the lock at 1.0 s, reads, and is stopped at 1.01 s; its session
// timeout is 2 s. B gets the lock at 3.3 s, and others follow. A continues at 3.9 s and writes a result that it
// computed from the old value.
func act2(fenced bool) []history.Event {
	s := &Synth{}
	s.Phase(0, history.PhaseEnsemble)
	s.Phase(100, history.PhaseConnect)
	for i := range 5 {
		s.connect(200+float64(i), fmt.Sprintf("c%d/1", i+1), history.SessionID(0x100+i))
	}
	s.Phase(400, history.PhaseMeasure)
	warm := []Acq{
		{Client: "c2/1", N: 1, Token: 11, session: 0x101, Invoke: 420, Granted: 440, Release: 520},
		{Client: "c3/1", N: 1, Token: 12, session: 0x102, Invoke: 425, Granted: 525, Release: 640},
		{Client: "c4/1", N: 1, Token: 13, session: 0x103, Invoke: 430, Granted: 645, Release: 760},
		{Client: "c5/1", N: 1, Token: 14, session: 0x104, Invoke: 435, Granted: 764, Release: 990},
	}
	v := int64(0)
	for _, a := range warm {
		s.Acquire(a)
		s.held(a.Granted-1, a.session, a.Token)
		s.use(a.Granted+10, a, history.OpRead, true, v)
		v++
		s.use(a.Granted+60, a, history.OpWrite, true, v)
	}
	victim := Acq{Client: "c1/1", N: 1, Token: 15, session: 0x100, Invoke: 500, Granted: 1000, Release: 3930,
		releaseFails: true}
	s.Acquire(victim)
	s.held(999, victim.session, victim.Token)
	s.use(1005, victim, history.OpRead, true, v)
	s.Add(1008, history.Event{Op: history.OpTrigger, Client: "c1/1", Lock: TheLock, Acq: 1, Fault: "f1",
		Detail: "before-write"})
	s.Add(1010, history.Event{Process: "c1", Op: history.OpProcess, Mode: history.Mode(history.ProcessStopped)})
	s.Fault("f1", "pause", "c1", 1010, 3900)
	s.Add(3900, history.Event{Process: "c1", Op: history.OpProcess, Mode: history.Mode(history.ProcessContinued)})
	later := []Acq{
		{Client: "c2/1", N: 2, Token: 16, session: 0x101, Invoke: 560, Granted: 3300, Release: 3420},
		{Client: "c3/1", N: 2, Token: 17, session: 0x102, Invoke: 700, Granted: 3424, Release: 3560},
		{Client: "c4/1", N: 2, Token: 18, session: 0x103, Invoke: 800, Granted: 3565, Release: 3700},
		{Client: "c5/1", N: 2, Token: 19, session: 0x104, Invoke: 1030, Granted: 3704, Release: 3850},
		{Client: "c2/1", N: 3, Token: 20, session: 0x101, Invoke: 3450, Granted: 3855, Release: 4000},
		{Client: "c3/1", N: 3, Token: 21, session: 0x102, Invoke: 3600, Granted: 4004, Release: 4140},
		{Client: "c4/1", N: 3, Token: 22, session: 0x103, Invoke: 3750, Granted: 4145, Release: 4290},
		{Client: "c5/1", N: 3, Token: 23, session: 0x104, Invoke: 3900, Granted: 4295, Release: 4420},
	}
	s.held(3296, 0x101, 16)
	for i, a := range later {
		s.Acquire(a)
		if i > 0 {
			s.held(a.Granted-1, a.session, a.Token)
		}
		s.use(a.Granted+20, a, history.OpRead, true, v)
		v++
		s.use(a.Granted+80, a, history.OpWrite, true, v)
	}
	s.use(3912, victim, history.OpWrite, !fenced, 5)
	s.Add(3925, history.Event{Op: history.OpLost, Client: "c1/1", Lock: TheLock, Acq: 1, Detail: "session expired"})
	s.Add(3924, history.Event{Op: history.OpExpired, Client: "c1/1", Session: 0x100, Detail: "session expired"})
	s.held(4421, 0, 0)
	s.Phase(4500, history.PhaseDrain)
	s.Phase(4600, history.PhaseCollect)
	s.Add(4700, history.Event{Op: history.OpEnd, Detail: string(history.EndComplete)})
	return s.Sorted()
}

// Busy is the history of a saturated run of n clients on one lock, 8 to a process, in which one process is cut off
// and a server is killed.
func Busy(n int, seconds float64, withFaults bool) []history.Event {
	rng := rand.New(rand.NewPCG(1, 2))
	s := &Synth{}
	s.Phase(0, history.PhaseEnsemble)
	s.Phase(1000, history.PhaseConnect)
	s.Phase(2000, history.PhaseWarmup)
	s.Phase(4000, history.PhaseMeasure)
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
			now = 11400 // a server is down until a leader is elected
		}
		s.tokens++
		number[w.client]++
		hold := 2 + rng.ExpFloat64()*3
		a := Acq{Client: clientName(w.client), N: number[w.client], session: history.SessionID(0x1000 + w.client),
			Token:  s.tokens,
			Invoke: w.invoked, Granted: now, Release: now + hold}
		s.Acquire(a)
		s.held(now-0.5, a.session, a.Token)
		s.use(now+0.5, a, history.OpRead, true, s.tokens-1)
		s.use(now+1, a, history.OpWrite, true, s.tokens)
		now += hold + 1.5 + rng.ExpFloat64()*0.6
		if again := now + rng.ExpFloat64()*2; again < end {
			queue = append(queue, waiter{w.client, again})
		}
	}
	if withFaults {
		s.Fault("f1", "kill", "zk2", 9000, 14000)
		s.Fault("f2", "partition", "c3", 15500, 17000)
	}
	s.Phase(end, history.PhaseDrain)
	s.Phase(end+400, history.PhaseCollect)
	s.Add(end+500, history.Event{Op: history.OpEnd, Detail: string(history.EndComplete)})
	return s.Sorted()
}

func clientName(i int) string { return fmt.Sprintf("c%d/%d", i/8+1, i%8+1) }

// RunOf returns a run that consists of a scenario and events.
func RunOf(events []history.Event, sc scenario.Scenario) *rundir.Run {
	log := history.NewLog(events)
	return &rundir.Run{Scenario: &sc, Events: log, Acquisitions: history.Acquisitions(log)}
}

// Act2Run is the demonstration, with a guard that fences or without one.
func Act2Run(fenced bool) (*rundir.Run, evidence.Facts) {
	guard := "none"
	if fenced {
		guard = evidence.GuardFencing
	}
	facts := evidence.Facts{Tokens: true, Queue: true, Exclusive: true, Guard: guard, SessionTimeout: 2 * time.Second,
		Tick: 500 * time.Millisecond,
		Expect: map[string]evidence.Expectation{evidence.BeliefExclusion: evidence.ExpectFail,
			evidence.Effect: evidence.ExpectFail},
		MinAcquired: 5,
		Faults:      []evidence.PlannedFault{{ID: "f1", Kind: "pause", Target: "c1", HitsHolder: true}}}
	if fenced {
		facts.Expect[evidence.Effect] = evidence.ExpectPass
	}
	run := RunOf(act2(fenced), scenario.Scenario{
		Name:    "paused-holder",
		About:   "A client is stopped while it holds the lock, for longer than its session lives.",
		Recipe:  "mutex",
		Guard:   guard,
		Seed:    7,
		Clients: 5, ClientProcesses: 5, Locks: 1,
		SessionTimeout: 2 * time.Second, Tick: 500 * time.Millisecond,
		Storage: "tmpfs", Servers: 3, Drain: workloads.DrainFinish, Load: workloads.Load{Arrivals: workloads.Closed},
	})
	run.Env = rundir.Env{Lab: "docker", ZooKeeper: "3.8.0", Kernel: "6.1", CPUs: 4}
	return run, facts
}

// BusyRun is the run of [Busy].
func BusyRun(n int, seconds float64, withFaults bool) (*rundir.Run, evidence.Facts) {
	run := RunOf(Busy(n, seconds, withFaults), scenario.Scenario{
		Name: "contended", Recipe: "mutex", Guard: "none", Seed: 1,
		Clients: n, ClientProcesses: (n + 7) / 8, Locks: 1,
		SessionTimeout: 4 * time.Second, Tick: time.Second,
		Storage: "disk", Servers: 3, Drain: workloads.DrainFinish, Load: workloads.Load{Arrivals: workloads.Closed},
	})
	run.Env = rundir.Env{Lab: "docker", ZooKeeper: "3.8.0"}
	return run, evidence.Facts{Tokens: true, Queue: true, Exclusive: true, Guard: "none",
		SessionTimeout: 4 * time.Second, Tick: time.Second}
}

// StormRun is a run with a fault every second, and waits that time out.
func StormRun() (*rundir.Run, evidence.Facts) {
	s := &Synth{events: Busy(24, 20, false)}
	for i := range 9 {
		from := 5000 + float64(i)*2000
		s.Fault(fmt.Sprintf("f%d", i), []string{"pause", "kill", "partition"}[i%3], []string{"c1", "zk2", "zk1,zk3"}[i%3],
			from, from+900)
	}
	for i := range 40 {
		a := Acq{Client: fmt.Sprintf("c9/%d", i%3+1), N: int64(i + 1), Invoke: 4100 + float64(i)*400}
		s.Acquire(a)
		s.Add(a.Invoke+300, history.Event{Client: a.Client, Acq: a.N, Lock: TheLock, Op: history.OpAcquire,
			Kind: history.Fail, Detail: "context deadline exceeded"})
	}
	run := RunOf(s.Sorted(), scenario.Scenario{Name: "storm", Load: workloads.Load{Arrivals: workloads.Closed}})
	return run, evidence.Facts{Exclusive: true, Tokens: true}
}

// UnlockedRun is a run without any lock, in which all clients hold at once.
func UnlockedRun() (*rundir.Run, evidence.Facts) {
	s := &Synth{}
	rng := rand.New(rand.NewPCG(3, 4))
	s.Phase(0, history.PhaseMeasure)
	for c := range 8 {
		at := 10 + rng.Float64()*10
		for n := int64(1); at < 1500; n++ {
			hold := 3 + rng.ExpFloat64()*10
			a := Acq{Client: clientName(c), N: n, Invoke: at, Granted: at + 0.2, Release: at + hold}
			s.Acquire(a)
			s.use(at+1, a, history.OpRead, true, n)
			s.use(at+hold-1, a, history.OpWrite, true, n)
			at += hold + 20 + rng.ExpFloat64()*20
		}
	}
	s.Phase(1600, history.PhaseDrain)
	run := RunOf(s.Sorted(), scenario.Scenario{Name: "unlocked", Recipe: "none",
		Load: workloads.Load{Arrivals: workloads.Closed}})
	return run, evidence.Facts{Expect: map[string]evidence.Expectation{evidence.BeliefExclusion: evidence.ExpectFail}}
}

// sharedRun is a run in which c1 is stopped from 1.01 s to 3.9 s while it holds, and others get the lock meanwhile.
func sharedRun(all []Acq, victim Acq, op history.Op) []history.Event {
	s := &Synth{}
	s.Phase(100, history.PhaseConnect)
	for i := range 5 {
		s.connect(200+float64(i), fmt.Sprintf("c%d/1", i+1), history.SessionID(0x100+i))
	}
	s.Phase(400, history.PhaseMeasure)
	v := int64(0)
	for _, a := range append(all, victim) {
		var process int
		fmt.Sscanf(a.Client, "c%d/1", &process)
		a.session = history.SessionID(0x100 + process - 1)
		s.Acquire(a)
		s.use(a.Granted+5, a, history.OpRead, true, v)
		if a.mode != history.ModeRead && a.Client != victim.Client {
			v++
			s.use(a.Granted+60, a, history.OpWrite, true, v)
		}
	}
	s.Add(1010, history.Event{Process: "c1", Op: history.OpProcess, Mode: history.Mode(history.ProcessStopped)})
	s.Fault("f1", "pause", "c1", 1010, 3900)
	s.Add(3900, history.Event{Process: "c1", Op: history.OpProcess, Mode: history.Mode(history.ProcessContinued)})
	s.use(3912, victim, op, true, 5)
	s.Add(3925, history.Event{Op: history.OpLost, Client: "c1/1", Lock: TheLock, Acq: 1, Detail: "session expired"})
	s.Phase(4500, history.PhaseDrain)
	s.Phase(4600, history.PhaseCollect)
	s.Add(4700, history.Event{Op: history.OpEnd, Detail: string(history.EndComplete)})
	return s.Sorted()
}

func sharedFault(events []history.Event, permits int, name string) (*rundir.Run, evidence.Facts) {
	run := RunOf(events, scenario.Scenario{
		Name: name, Recipe: "rw", Guard: "none", Seed: 7,
		Clients: 5, ClientProcesses: 5, Locks: 1,
		SessionTimeout: 2 * time.Second, Tick: 500 * time.Millisecond, Load: workloads.Load{Arrivals: workloads.Closed},
	})
	return run, evidence.Facts{Tokens: true, Queue: true, Exclusive: true, Permits: permits, Guard: "none",
		SessionTimeout: 2 * time.Second, Tick: 500 * time.Millisecond, MinAcquired: 5,
		Expect: map[string]evidence.Expectation{evidence.BeliefExclusion: evidence.ExpectFail,
			evidence.Effect: evidence.ExpectAny},
		Faults: []evidence.PlannedFault{{ID: "f1", Kind: "pause", Target: "c1", HitsHolder: true}}}
}

// ReadWriteRun is a run in which c1 is stopped while it writes. Readers, a writer and readers follow.
func ReadWriteRun() (*rundir.Run, evidence.Facts) {
	r, w := history.ModeRead, history.ModeWrite
	return sharedFault(sharedRun([]Acq{
		{mode: r, Client: "c2/1", N: 1, Token: 11, Invoke: 420, Granted: 440, Release: 800},
		{mode: r, Client: "c3/1", N: 1, Token: 12, Invoke: 425, Granted: 445, Release: 640},
		{mode: r, Client: "c4/1", N: 1, Token: 13, Invoke: 430, Granted: 450, Release: 990},
		{mode: r, Client: "c2/1", N: 2, Token: 16, Invoke: 900, Granted: 3300, Release: 3420},
		{mode: r, Client: "c3/1", N: 2, Token: 17, Invoke: 910, Granted: 3304, Release: 3500},
		{mode: r, Client: "c4/1", N: 2, Token: 18, Invoke: 1000, Granted: 3308, Release: 3560},
		{mode: w, Client: "c5/1", N: 1, Token: 19, Invoke: 1030, Granted: 3565, Release: 3750},
		{mode: r, Client: "c2/1", N: 3, Token: 20, Invoke: 3450, Granted: 3755, Release: 4100},
		{mode: r, Client: "c3/1", N: 3, Token: 21, Invoke: 3600, Granted: 3759, Release: 4040},
	}, Acq{mode: w, Client: "c1/1", N: 1, Token: 15, Invoke: 500, Granted: 1000, Release: 3930, releaseFails: true},
		history.OpWrite), 0, "read-write")
}

// SemaphoreRun is a run of two permits. c1 has one when it is stopped, and two other clients have both in the end.
func SemaphoreRun() (*rundir.Run, evidence.Facts) {
	p := history.ModePermit
	return sharedFault(sharedRun([]Acq{
		{mode: p, Client: "c2/1", N: 1, Token: 11, slot: 0, Invoke: 420, Granted: 440, Release: 800},
		{mode: p, Client: "c3/1", N: 1, Token: 12, slot: 1, Invoke: 425, Granted: 445, Release: 990},
		{mode: p, Client: "c4/1", N: 1, Token: 13, slot: 0, Invoke: 430, Granted: 805, Release: 1700},
		{mode: p, Client: "c5/1", N: 1, Token: 16, slot: 0, Invoke: 900, Granted: 1705, Release: 2500},
		{mode: p, Client: "c2/1", N: 2, Token: 17, slot: 0, Invoke: 1000, Granted: 2504, Release: 3500},
		{mode: p, Client: "c3/1", N: 2, Token: 18, slot: 1, Invoke: 1010, Granted: 3304, Release: 3700},
		{mode: p, Client: "c4/1", N: 2, Token: 19, slot: 0, Invoke: 1800, Granted: 3510, Release: 4100},
		{mode: p, Client: "c5/1", N: 2, Token: 20, slot: 1, Invoke: 2600, Granted: 3705, Release: 4200},
	}, Acq{mode: p, Client: "c1/1", N: 1, Token: 15, slot: 1, Invoke: 500, Granted: 1000, Release: 3930,
		releaseFails: true}, history.OpWrite), 2, "semaphore")
}

// JudgedRun is the demonstration with verdicts written by hand, so that golden files do not depend on the texts of
// the checks.
func JudgedRun() (*rundir.Run, check.Report) {
	events := act2(false)
	rep := check.Report{
		Verdict: evidence.Pass,
		Checks: []evidence.Verdict{
			{Name: evidence.ServiceExclusion, Expected: evidence.ExpectPass, Result: evidence.NotApplicable,
				Summary: "the transaction logs were not read"},
			{Name: evidence.BeliefExclusion, Expected: evidence.ExpectFail, Result: evidence.Fail, Count: 1,
				Summary: "one overlap, explained",
				Findings: []evidence.Finding{{Kind: evidence.KindOverlap, Lock: TheLock, At: Ms(3300), Until: Ms(3420),
					Clients: []string{"c1/1", "c2/1"}, Tokens: []int64{15, 16},
					Cause: "pause", Fault: "f1", Explained: true, Text: "c1/1 and c2/1 both believed that they held <the lock>",
					Events: events[:2]}}},
			{Name: evidence.Effect, Expected: evidence.ExpectFail, Result: evidence.Fail, Count: 1, Summary: "one update lost"},
			{Name: evidence.Fairness, Expected: evidence.ExpectPass, Result: evidence.Pass, Summary: "in order"},
		},
		Safety: evidence.Safety{Overlaps: new(int64(1)), OverlapsUnexplained: new(int64(0)), MaxOverlapNs: new(Ms(120)),
			StaleAccepted: new(int64(1)), StaleRejected: new(int64(0)),
			LateAccepted: new(int64(0)), LostUpdates: new(int64(1)), FalseRejections: new(int64(0))},
		Faults: []effect.FaultRecord{{ID: "f1", Kind: "pause", Target: "c1", RequestedNs: new(Ms(1008)),
			InjectedNs: new(Ms(1010)), Verified: true,
			HealedNs: new(Ms(3900)), HealVerified: true}},
		Warnings: []string{"a warning of the checks"},
	}
	run := RunOf(events, scenario.Scenario{
		Name: "paused-holder", About: "A holder is stopped for longer than its session lives.",
		Recipe: "mutex", Guard: "none", Seed: 7,
		Clients: 5, ClientProcesses: 5, Locks: 1,
		SessionTimeout: 2 * time.Second, Tick: 500 * time.Millisecond,
		Storage: "tmpfs", Servers: 3, Drain: workloads.DrainFinish, Load: workloads.Load{Arrivals: workloads.Closed},
	})
	run.Env = rundir.Env{Lab: "docker", ZooKeeper: "3.8.0", Kernel: "6.1"}
	return run, rep
}

// Grant is a granted acquisition; times in milliseconds.
func Grant(client string, invoked, queued, returned, released float64) history.Acquisition {
	return history.Acquisition{Claimant: &history.Claimant{Process: "c1", Client: client, Lock: TheLock}, N: 1,
		Trouble: &history.Trouble{Lost: history.None, Died: history.None},
		Invoked: Ms(invoked), Queued: Ms(queued), Returned: Ms(returned),
		Outcome: history.OK, ReleaseInvoked: Ms(released), ReleaseReturned: Ms(released + 1),
		ReleaseOutcome: history.OK}
}

// Waiting is one that never got the lock.
func Waiting(client string, invoked, queued float64) history.Acquisition {
	a := Grant(client, invoked, queued, 0, 0)
	a.Returned, a.Outcome, a.ReleaseInvoked, a.ReleaseReturned = history.None, history.Info, history.None, history.None
	return a
}
