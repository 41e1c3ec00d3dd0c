package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"locklab/ensembles/txnlog"
	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/recipes"
	"locklab/recipes/broken"
	"locklab/recipes/zktest"
	"locklab/workloads/foreign"
)

// TestMain is the command itself where a test starts it.
func TestMain(m *testing.M) {
	if os.Getenv("BROKEN_LOCK") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	lockPath   = "/run/lock0"
	tick       = 100 * time.Millisecond
	manyGrants = 4000
)

// A stage is servers in memory with clients of one lock, whose record the checks judge as they judge that of a run.
type stage struct {
	t       *testing.T
	ctx     context.Context
	srv     *zktest.Service
	command []string
	timeout time.Duration
	shows   func() // called, if it is set, when the lock is as its bug makes it

	mu      sync.Mutex
	begun   time.Time
	events  []history.Event
	txns    []txnlog.Txn
	clients []*client

	drained                sync.Once
	granted, holding, most atomic.Int64
}

func newStage(t *testing.T, timeout time.Duration, command ...string) *stage {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	s := &stage{t: t, ctx: ctx, srv: zktest.Start(t), command: command, timeout: timeout, begun: time.Now()}
	s.note(history.Event{Process: "harness", Op: history.OpClock})
	s.note(history.Event{Process: "harness", Op: history.OpPhase, Detail: string(history.PhaseMeasure)})
	return s
}

// note records an event now.
func (s *stage) note(e history.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.At = int64(time.Since(s.begun))
	s.events = append(s.events, e)
}

// later sets the record's clock forward, so that nobody has to wait for time to pass in which nothing happens.
func (s *stage) later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = s.begun.Add(-d)
}

// committed notes what the servers' logs say of a session.
func (s *stage) committed(session history.SessionID, txn txnlog.Txn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	txn.Time, txn.Zxid, txn.Session = time.Since(s.begun).Milliseconds(), int64(len(s.txns)+1), int64(session)
	s.txns = append(s.txns, txn)
}

// strike begins a partition of the first client, which end heals.
func (s *stage) strike() (end func()) {
	c := s.clients[0]
	fault := func(op history.Op) {
		s.note(history.Event{Process: "harness", Op: op, Kind: history.OK, Fault: "f1", Mode: "partition", Target: c.process})
	}
	s.srv.CutOff(int64(c.session))
	fault(history.OpFaultInject)
	fault(history.OpFaultVerify)
	return func() {
		s.srv.Restore(int64(c.session))
		fault(history.OpFaultHeal)
		fault(history.OpFaultHealVerify)
	}
}

// expire ends a client's session at the servers.
func (s *stage) expire(c *client) {
	s.committed(c.session, txnlog.Txn{Type: txnlog.CloseSession})
	s.srv.Expire(int64(c.session))
}

func (s *stage) show() {
	if s.shows != nil {
		s.shows()
	}
}

// drain ends the measured window: attempts under way may still succeed.
func (s *stage) drain() {
	s.note(history.Event{Process: "harness", Op: history.OpPhase, Detail: string(history.PhaseDrain)})
}

// judged returns what the checks say.
func (s *stage) judged() check.Report {
	s.drained.Do(s.drain)
	s.note(history.Event{Process: "harness", Op: history.OpPhase, Detail: string(history.PhaseCollect)})
	s.note(history.Event{Process: "harness", Op: history.OpEnd, Detail: string(history.EndComplete)})
	s.mu.Lock()
	defer s.mu.Unlock()
	return check.Run(history.NewLog(s.events), evidence.Facts{
		Tokens: true, Exclusive: true, Clients: len(s.clients), Guard: evidence.GuardNone,
		SessionTimeout: s.timeout, Tick: tick,
		Natures: map[string]evidence.FaultNature{"partition": {Cause: "partition", SilencesLeader: true}},
		Servers: &evidence.ServerLog{Ensemble: []string{"zk1"}, Servers: []string{"zk1"},
			History: nodes.Replay(slices.Values(s.txns))},
	})
}

// A client is a process of its own with one client of the lock.
type client struct {
	*stage
	process string
	session history.SessionID
	s       *foreign.Session
	n       int64
}

func (s *stage) client() *client {
	s.t.Helper()
	c := &client{stage: s, process: fmt.Sprintf("c%d", len(s.clients)+1)}
	d, err := foreign.NewDriver(foreign.Config{Argv: append([]string{os.Args[0]}, s.command...),
		Env: []string{"BROKEN_LOCK=1"}, Stderr: os.Stderr, Greeted: func(scope, declares string) {
			e := history.Driver{Command: s.command[0], Scope: scope, Declares: declares}.Event()
			e.Process = c.process
			s.note(e)
		}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(d.Close)
	c.s, err = d.Open(s.ctx, foreign.SessionConfig{Servers: s.srv.Addrs(), Timeout: s.timeout, Paths: []string{lockPath}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.s.Close(context.WithoutCancel(s.ctx)) })
	ids := s.srv.Sessions()
	c.session = history.SessionID(slices.Max(ids)) // the newest
	c.record(history.Event{Op: history.OpConnected, Target: "zk1"})
	s.committed(c.session, txnlog.Txn{Type: txnlog.Create2, Cxid: 1,
		Ops: []txnlog.Op{{Type: txnlog.Create2, Path: "/other/" + c.process, Ephemeral: true}}})
	s.clients = append(s.clients, c)
	return c
}

func (c *client) record(e history.Event) {
	e.Process, e.Client, e.Session = c.process, c.process+"/0", c.session
	c.note(e)
}

// acquire returns nil if the attempt came to nothing.
func (c *client) acquire(ctx context.Context) *recipes.Hold {
	c.n++
	e := history.Event{Op: history.OpAcquire, Kind: history.Invoke, Acq: c.n, Lock: lockPath}
	c.record(e)
	h, err := c.s.Lock(foreign.LockConfig{Paths: []string{lockPath}}).Acquire(ctx)
	if err != nil {
		e.Kind, e.Detail = history.Fail, err.Error()
		c.record(e)
		return nil
	}
	e.Kind, e.Token = history.OK, h.Token()
	c.record(e)
	c.granted.Add(1)
	if n := c.holding.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	return h
}

func (c *client) release(h *recipes.Hold) {
	c.holding.Add(-1)
	e := history.Event{Op: history.OpRelease, Kind: history.Invoke, Acq: c.n, Lock: lockPath, Token: h.Token()}
	c.record(e)
	e.Kind = history.OK
	if err := h.Release(c.ctx); err != nil {
		e.Kind, e.Detail = history.Fail, err.Error()
	}
	c.record(e)
}

// contend lets clients hold the lock again and again, each for a moment, until two hold it at once or it was granted
// often enough. They give up after wait, if that is not 0.
func (s *stage) contend(clients int, hold, wait time.Duration, grants int64) {
	for range clients {
		s.client()
	}
	var all sync.WaitGroup
	for _, c := range s.clients {
		all.Go(func() {
			for s.most.Load() < 2 && s.granted.Load() < grants && s.ctx.Err() == nil {
				ctx, cancel := context.WithCancel(s.ctx)
				if wait > 0 {
					ctx, cancel = context.WithTimeout(s.ctx, wait)
				}
				if h := c.acquire(ctx); h != nil {
					<-time.After(hold)
					c.release(h)
				}
				cancel()
			}
			s.drained.Do(s.drain)
		})
	}
	all.Wait()
}

// superseded cuts the first client off while it has the lock, until the second one has it too. The first one's session
// lives all the time, or ends before that.
func (s *stage) superseded(ends bool) {
	a, b := s.client(), s.client()
	ha := a.acquire(s.ctx)
	end := s.strike()
	if ends {
		s.later(s.timeout + 2*tick)
		s.expire(a)
	}
	hb := b.acquire(s.ctx)
	if !ends && !slices.Contains(s.srv.Sessions(), int64(a.session)) {
		s.t.Fatal("the machine was so slow that the session has expired")
	}
	end()
	s.show()
	if ends {
		s.later(time.Minute) // and it is told nothing
	}
	if ha == nil || hb == nil {
		s.t.Fatal("the lock was not granted")
	}
	a.release(ha)
	b.release(hb)
}

// TestEachLockIsCaught makes each bug show on servers in memory. The checks, which know no znodes of the lock, find it
// and say why. The lock without a bug is found innocent where bugs of calm show.
func TestEachLockIsCaught(t *testing.T) {
	const alive = "by the servers' logs session"
	tests := map[string]struct {
		play  func(*stage)
		check string
		kind  string
		text  string
	}{
		"stale-list": {func(s *stage) { s.contend(8, time.Millisecond, 0, manyGrants) },
			evidence.BeliefExclusion, "overlap", alive},
		"late-delete": {func(s *stage) { s.contend(4, 2*late, 0, manyGrants) }, evidence.BeliefExclusion, "overlap", alive},
		"early-grant": {func(s *stage) { s.contend(4, time.Millisecond, 0, manyGrants) },
			evidence.BeliefExclusion, "overlap", ""}, // its tokens are as wrong as it is
		"missing-predecessor": {func(s *stage) { s.contend(8, 4*time.Millisecond, 10*time.Millisecond, manyGrants) },
			evidence.BeliefExclusion, "overlap", ""},
		"wall-lease":   {func(s *stage) { s.superseded(false) }, evidence.BeliefExclusion, "overlap", alive},
		"data-version": {func(s *stage) { s.superseded(false) }, evidence.BeliefExclusion, "overlap", alive},
		"recreated": {func(s *stage) { s.superseded(true) }, evidence.BeliefExclusion, "overlap",
			"must have learned by"},
		"cut-off-waiter": {cutOff, evidence.BeliefExclusion, "overlap", ""},
		"persistent":     {leaveBehind, evidence.Liveness, "stall", ""},
		"lowest-session": {func(s *stage) { s.contend(8, 5*time.Millisecond, 0, 60) }, "", "", "never got a lock"},
		"sound":          {func(s *stage) { s.contend(8, time.Millisecond, 20*time.Millisecond, 300) }, "", "", ""},
	}
	if got, want := slices.Sorted(maps.Keys(tests)), slices.Sorted(maps.Keys(ways)); !slices.Equal(got, want) {
		t.Errorf("tests of %v, and there are %v", got, want)
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 3*time.Second, name)
			tt.play(s)
			r := s.judged()
			for _, v := range r.Checks {
				if v.Violation && tt.check == "" {
					t.Errorf("%s: %s: %+v", v.Name, v.Summary, v.Findings)
				}
			}
			if tt.check == "" {
				if warned := strings.Contains(strings.Join(r.Warnings, "\n"), "never got a lock"); warned != (tt.text != "") {
					t.Errorf("warnings: %q", r.Warnings)
				}
				return
			}
			f := r.Found(tt.check, []string{tt.kind}, "")
			if f == nil || !strings.Contains(f.Text, tt.text) || !r.Check(tt.check).Violation {
				t.Errorf("%s: %+v", tt.check, r.Check(tt.check))
			}
		})
	}
}

// cutOff breaks the connection of a client that waits. Only a client that watches waits; the one before it does not
// watch.
func cutOff(s *stage) {
	a, b := s.client(), s.client()
	ha := a.acquire(s.ctx)
	granted := make(chan *recipes.Hold)
	go func() { granted <- b.acquire(s.ctx) }()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case hb := <-granted:
			if ha == nil || hb == nil {
				s.t.Fatal("the lock was not granted")
			}
			s.show()
			a.release(ha)
			b.release(hb)
			return
		case <-again.C:
			if len(s.srv.Watched()) > 0 {
				s.srv.Disconnect(int64(b.session))
			}
		case <-s.ctx.Done():
			s.t.Fatal(context.Cause(s.ctx))
		}
	}
}

// leaveBehind ends the session of a holder, and lets another client wait for a minute.
func leaveBehind(s *stage) {
	a, b := s.client(), s.client()
	ha := a.acquire(s.ctx)
	if ha == nil {
		s.t.Fatal("the lock was not granted")
	}
	s.expire(a)
	<-ha.Context().Done()
	if err := context.Cause(ha.Context()); !errors.Is(err, recipes.ErrLockLost) {
		s.t.Fatal(err)
	}
	a.record(history.Event{Op: history.OpLost, Acq: a.n, Lock: lockPath, Token: ha.Token(), Detail: "expired"})
	ctx, cancel := context.WithTimeout(s.ctx, 100*time.Millisecond)
	defer cancel()
	s.later(time.Second)
	e := history.Event{Op: history.OpAcquire, Kind: history.Invoke, Acq: 1, Lock: lockPath}
	b.record(e)
	if h, err := b.s.Lock(foreign.LockConfig{Paths: []string{lockPath}}).Acquire(ctx); err == nil {
		b.release(h)
		s.t.Fatal("the lock was granted")
	}
	s.show()
	s.later(time.Minute)
	e.Kind, e.Detail = history.Fail, "timed out"
	b.record(e)
}

// Each lock of the command is a known bug, but for the sound one.
func TestEachLockIsKnown(t *testing.T) {
	known := []string{"sound"}
	for _, bug := range broken.Foreign {
		name, _, _ := strings.Cut(strings.TrimPrefix(bug.Recipe, "exec:broken-lock "), " ")
		known = append(known, name)
		if "foreign-"+name != bug.Name {
			t.Errorf("%s is %s", bug.Name, bug.Recipe)
		}
	}
	slices.Sort(known)
	if got := slices.Sorted(maps.Keys(ways)); !slices.Equal(got, known) {
		t.Errorf("locks %v, known bugs %v", got, known)
	}
}
