package watch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"locklab/harness/history"
	"locklab/harness/history/historytest"
	"locklab/harness/rundir"
)

var errInterrupted = errors.New("interrupted")

// The view counts each pair of holds that overlapped once, however the stream
// that it is fed with is cut.
func TestViewCountsOverlaps(t *testing.T) {
	outer, n := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		var events []history.Event
		began := map[string]hold{}
		var holds []hold
		at := int64(0)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			at += rapid.Int64Range(1, int64(400*time.Millisecond)).Draw(t, "later")
			c := rapid.SampledFrom([]string{"c1/0", "c1/1", "c2/0"}).Draw(t, "client")
			e := history.Event{At: at, Client: c, Lock: "/l", Acq: int64(len(holds) + 1)}
			if b, holding := began[c]; holding {
				e.Acq = b.acq
				e.Op, e.Kind = history.OpRelease, history.Invoke
				if rapid.Bool().Draw(t, "lost") {
					e.Op, e.Kind = history.OpLost, history.Info
				}
				b.until = at
				holds = append(holds, b)
				delete(began, c)
			} else {
				modes := []history.Mode{history.ModeExclusive, history.ModeWrite, history.ModeRead}
				e.Mode = rapid.SampledFrom(modes).Draw(t, "mode")
				e.Op, e.Kind = history.OpAcquire, history.Invoke
				events = append(events, e)
				e.Kind = history.OK
				began[c] = hold{client: c, acq: e.Acq, mode: e.Mode, from: at}
			}
			events = append(events, e)
		}
		want := 0
		for i, a := range holds {
			for _, b := range holds[:i] {
				if a.client != b.client && history.Conflict(a.mode, b.mode) && a.from < b.until && b.from < a.until {
					want++
				}
			}
		}
		n++
		l := NewView(Config{})
		f := l.Feed(nil)
		for b := historytest.Raw(t, filepath.Join(outer, fmt.Sprint(n)), events); len(b) > 0; {
			cut := rapid.IntRange(1, len(b)).Draw(t, "cut")
			if _, err := f.Write(b[:cut]); err != nil {
				t.Fatal(err)
			}
			b = b[cut:]
		}
		if l.overlaps != want || l.acquired != len(holds)+len(began) {
			t.Fatalf("%d overlaps of %d, %d acquired of %d", l.overlaps, want, l.acquired, len(holds)+len(began))
		}
	})
}

// Only the verdict knows which permits are too many, so the view does not claim that there are none.
func TestViewLeavesPermitsToTheVerdict(t *testing.T) {
	l := NewView(Config{})
	for i, c := range []string{"c1/0", "c2/0"} {
		l.add(
			[]history.Event{
				{
					At:     int64(i),
					Client: c,
					Acq:    1,
					Lock:   "/l",
					Op:     history.OpAcquire,
					Kind:   history.OK,
					Mode:   history.ModePermit,
					Value:  1,
				},
			},
		)
	}
	l.add(
		[]history.Event{
			{At: 5, Client: "c1/0", Acq: 1, Lock: "/l", Op: history.OpRelease, Kind: history.Invoke, Mode: history.ModePermit},
		},
	)
	var p Progress
	if l.progress(&p, time.Now()); !strings.HasSuffix(p.String(), "overlaps: -") {
		t.Errorf("progress of permits: %s", p)
	}
}

// Which access supersedes a victim depends on the mode of its hold.
func TestViewSuperseded(t *testing.T) {
	reader := history.Event{Op: history.OpTrigger, Lock: "/l", Mode: history.ModeRead, Token: 7}
	writer := history.Event{Op: history.OpTrigger, Lock: "/l", Mode: history.ModeWrite, Token: 7}
	permit := history.Event{
		Op:     history.OpTrigger,
		Lock:   "/l",
		Mode:   history.ModePermit,
		Target: string(history.NewSlot(1)),
		Token:  7,
	}
	for _, tt := range []struct {
		victim, served history.Event
		want           bool
	}{
		{reader, history.Event{Mode: history.ModeRead, Token: 9}, false},
		{reader, history.Event{Mode: history.ModeWrite, Token: 9}, true},
		{writer, history.Event{Mode: history.ModeRead, Token: 9}, true},
		{permit, history.Event{Mode: history.ModePermit, Target: string(history.NewSlot(0)), Token: 9}, false},
		{permit, history.Event{Mode: history.ModePermit, Target: string(history.NewSlot(1)), Token: 9}, true},
	} {
		l := NewView(Config{})
		e := tt.served
		e.Process, e.Op, e.Kind, e.Lock = rundir.ResourceHost, history.OpEnter, history.OK, "/l"
		l.add([]history.Event{e})
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // now or never
		if err := l.Superseded(ctx, tt.victim); (err == nil) != tt.want {
			t.Errorf("%v superseded by %v: %v", tt.victim, tt.served, err)
		}
	}
}

// A victim without a token is superseded by another client's grant, if that excludes the victim's hold.
func TestViewSupersededWithoutTokens(t *testing.T) {
	victim := history.Event{At: 10, Op: history.OpTrigger, Client: "c1/0", Lock: "/l", Mode: history.ModeExclusive}
	reader := victim
	reader.Mode = history.ModeRead
	grant := func(at int64, client, lock string, mode history.Mode) history.Event {
		return history.Event{At: at, Client: client, Lock: lock, Mode: mode}
	}
	for _, tt := range []struct {
		name          string
		victim, grant history.Event
		want          bool
	}{
		{"another client", victim, grant(11, "c2/0", "/l", history.ModeExclusive), true},
		{"itself", victim, grant(11, "c1/0", "/l", history.ModeExclusive), false},
		{"another lock", victim, grant(11, "c2/0", "/m", history.ModeExclusive), false},
		{"an earlier grant", victim, grant(9, "c2/0", "/l", history.ModeExclusive), false},
		{"a reader beside a reader", reader, grant(11, "c2/0", "/l", history.ModeRead), false},
		{"a writer beside a reader", reader, grant(11, "c2/0", "/l", history.ModeWrite), true},
	} {
		l := NewView(Config{})
		e := tt.grant
		e.Process, e.Op, e.Kind, e.Acq = "c2", history.OpAcquire, history.OK, 1
		l.add([]history.Event{e})
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // now or never
		if err := l.Superseded(ctx, tt.victim); (err == nil) != tt.want {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// Standstills of several processes at once count once. Clients are waited for after their own only.
func TestViewStood(t *testing.T) {
	v := NewView(Config{Standstill: 100})
	for _, s := range []struct {
		process string
		at      int64
		over    time.Duration
	}{{"c1", 1000, 200}, {rundir.HarnessHost, 1100, 200}, {"c1", 2000, 99}, {"c2", 3000, 100}, {"c1", 2990, 100},
		{rundir.HarnessHost, 4000, 100}} {
		e := history.HiccupOf(s.at, s.over)
		e.Process = s.process
		v.Hear(e)
	}
	v.Look(func(now State) {
		if now.Stood() != 500 || now.StoodUntil() != 3000 {
			t.Errorf("stood for %d until %d, want 500 until 3000", now.Stood(), now.StoodUntil())
		}
	})
}

// A caller that waits for something is woken when it happens, and learns the cause if it does not.
func TestViewWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewView(Config{})
		ctx, cancel := context.WithCancelCause(t.Context())
		got := make(chan error, 2)
		go func() { got <- l.Superseded(ctx, history.Event{Op: history.OpTrigger, Lock: "/l", Token: 7}) }()
		serve := func(lock string, token int64, kind history.Kind) {
			l.add([]history.Event{{Process: rundir.ResourceHost, Op: history.OpRead, Kind: kind, Lock: lock, Token: token}})
			synctest.Wait()
		}
		serve("/other", 9, history.OK)
		serve("/l", 9, history.Fail)
		serve("/l", 7, history.OK)
		select {
		case err := <-got:
			t.Fatalf("superseded by nothing: %v", err)
		default:
		}
		serve("/l", 8, history.OK)
		if err := <-got; err != nil {
			t.Error(err)
		}
		go func() { _, err := l.Triggered(ctx, "f1", "c1"); got <- err }()
		synctest.Wait()
		cancel(errInterrupted)
		if err := <-got; !errors.Is(err, errInterrupted) {
			t.Errorf("got %v", err)
		}
	})
}

// A process that was restarted has not ended.
func TestViewExited(t *testing.T) {
	l := NewView(Config{})
	process := func(state history.ProcessState, how string) {
		e := history.ProcessChange{State: state, Detail: how}.Event()
		e.Process = "c1"
		l.add([]history.Event{e})
	}
	process(history.ProcessStarted, "")
	process(history.ProcessExited, "killed")
	if how, exited := (State{l}).Exited("c1"); !exited || how != "killed" {
		t.Errorf("exited: %t, %q", exited, how)
	}
	process(history.ProcessStarted, "")
	if _, exited := (State{l}).Exited("c1"); exited {
		t.Error("exited, although it was started again")
	}
}

// A process that a fault has ended is finished only when nothing can start it again.
func TestViewFinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewView(Config{})
		l.AllowExit("c1")
		l.add(
			[]history.Event{
				{Process: "c1", Op: history.OpProcess, Mode: history.Mode(history.ProcessExited)},
				{Process: "c2", Op: history.OpDone},
			},
		)
		ended := make(chan error)
		go func() {
			ended <- l.Wait(t.Context(), func(now State) bool { return now.Finished("c1") && now.Finished("c2") })
		}()
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("all are finished, although a fault is to start c1 again")
		default:
		}
		l.add([]history.Event{{Process: "c3", Op: history.OpProcess, Mode: history.Mode(history.ProcessExited)}})
		l.Settle()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if (State{l}).Finished("c3") {
			t.Error("a process that no fault has ended is finished")
		}
	})
}

// An absent client has lost its connection and has no new one, in a process that goes on.
func TestViewAbsent(t *testing.T) {
	l := NewView(Config{})
	tell := func(op history.Op, clients ...string) {
		for _, c := range clients {
			l.add([]history.Event{{Process: history.HostOf(c), Client: c, Op: op}})
		}
	}
	process := func(state history.ProcessState, host string) {
		e := history.ProcessChange{State: state}.Event()
		e.Process = host
		l.add([]history.Event{e})
	}
	want := func(clients ...string) {
		t.Helper()
		if got := l.Absent(); !slices.Equal(got, clients) {
			t.Errorf("absent: %v, want %v", got, clients)
		}
	}
	all := []string{"c1/0", "c1/1", "c2/0", "c3/0", "c4/0"}
	tell(history.OpConnected, all...)
	want()
	tell(history.OpDisconnected, all...)
	want(all...)
	tell(history.OpExpired, "c1/0")
	tell(history.OpConnected, "c1/1")
	want("c1/0", "c2/0", "c3/0", "c4/0")
	tell(history.OpConnected, "c1/0")
	process(history.ProcessStopped, "c2")
	tell(history.OpDone, "c4")
	want("c3/0")
	process(history.ProcessExited, "c3")
	process(history.ProcessContinued, "c2")
	want("c2/0")
	l.Restarting("c3")
	want("c2/0")
}

// Clients of several hosts that are armed for one fault are told apart.
func TestViewTriggersOfEachHost(t *testing.T) {
	l := NewView(Config{})
	for i, h := range []string{"c1", "c2", "c1"} {
		l.add(
			[]history.Event{{At: int64(i), Process: h, Client: fmt.Sprintf("%s/%d", h, i), Op: history.OpStrike, Fault: "f1"}},
		)
	}
	for host, want := range map[string]string{"c1": "c1/2", "c2": "c2/1", "": "c2/1"} {
		if e, err := l.Triggered(t.Context(), "f1", host); err != nil || e.Client != want {
			t.Errorf("%q: %v, %v", host, e.Client, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if e, err := l.Triggered(ctx, "f1", "c3"); err == nil {
		t.Errorf("a host whose clients have reported nothing: %v", e)
	}
}

// Progress comes once a second while a run lasts, and says what happened since the last time.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewView(Config{})
		var told []Progress
		r := NewReporter(ReporterConfig{View: l, Report: func(p Progress) { told = append(told, p) }})
		r.SetPhase(history.PhaseMeasure)
		r.SetFaults([]string{"pause c1", "kill zk2"})
		r.SetStart(time.Now())
		go r.Run()
		at := int64(1)
		acq := int64(0)
		acquire := func(n int) {
			for range n {
				at += int64(time.Second)
				acq++
				l.add([]history.Event{{At: at, Client: "c1/0", Acq: acq, Lock: "/l", Op: history.OpAcquire, Kind: history.Invoke},
					{At: at + int64(5*time.Millisecond), Client: "c1/0", Lock: "/l", Op: history.OpAcquire, Kind: history.OK},
					{
						At:     at + 1 + int64(5*time.Millisecond),
						Client: "c1/0",
						Lock:   "/l",
						Op:     history.OpRelease,
						Kind:   history.Invoke,
					}})
			}
		}
		acquire(200)
		time.Sleep(1500 * time.Millisecond) // virtual
		acquire(50)
		time.Sleep(time.Second)
		r.End()
		if len(told) != 2 || told[0].Rate != 200 || told[1].Rate != 50 || told[1].Acquired != 250 {
			t.Fatalf("told %+v", told)
		}
		if p := told[0]; p.P99 < 4*time.Millisecond || p.P99 > 6*time.Millisecond || p.Elapsed != time.Second {
			t.Errorf("first: %+v", p)
		}
		if told[1].P99 != 0 {
			t.Errorf("a 99th percentile of 50 samples: %v", told[1].P99)
		}
		const want = "  2.0s measure      50 acquired/s  p99 -         faults: pause c1; kill zk2  overlaps: 0"
		if got := told[1].String(); got != want {
			t.Errorf("line %q, want %q", got, want)
		}
	})
}

// Progress names a holder whose hold has lasted beside its successor's, but not one whose end may only not have arrived
// yet. Damage in the resource's record is counted.
func TestProgressNamesHoldersAndDamage(t *testing.T) {
	l := NewView(Config{Clock: history.NewClock()})
	now := time.Now()
	at := func(ago time.Duration) int64 { return l.config.Clock.At(now.Add(-ago)) }
	acquired := func(client string, ago time.Duration) []history.Event {
		return []history.Event{
			{At: at(ago) - 1, Client: client, Lock: "/l", Acq: 1, Op: history.OpAcquire, Kind: history.Invoke},
			{At: at(ago), Client: client, Lock: "/l", Acq: 1, Op: history.OpAcquire, Kind: history.OK},
		}
	}
	told := func() (p Progress) {
		l.progress(&p, now)
		return p
	}
	names := func(p Progress) (all []string) {
		for _, h := range p.Holders {
			all = append(all, h.Client)
		}
		return all
	}
	l.add(
		[]history.Event{
			{At: at(3 * time.Second), Client: "c3/0", Lock: "/l", Acq: 1, Op: history.OpAcquire, Kind: history.Invoke},
		},
	)
	l.add(acquired("c1/0", 2*time.Second))
	if p := told(); p.Holding != 1 || p.Waiting != 1 || p.LongestWait != 3*time.Second ||
		p.Holders[0].For != 2*time.Second {
		t.Errorf("one holds, one waits: %+v", p)
	}
	l.add(acquired("c2/0", 100*time.Millisecond))
	if got := names(told()); !slices.Equal(got, []string{"c2/0"}) {
		t.Errorf("%q hold, though the end of the first may be on its way", got)
	}
	now = now.Add(time.Second)
	if got := names(told()); !slices.Equal(got, []string{"c1/0", "c2/0"}) {
		t.Errorf("%q hold, want both: the end of the first would be known", got)
	}
	write := func(token, value int64, kind history.Kind) history.Event {
		return history.Event{
			At:      l.config.Clock.At(now),
			Process: rundir.ResourceHost,
			Lock:    "/l",
			Token:   token,
			Value:   value,
			Op:      history.OpWrite,
			Kind:    kind,
		}
	}
	l.add(
		[]history.Event{
			write(5, 1, history.OK),
			write(7, 2, history.OK),
			write(5, 2, history.OK),
			write(6, 0, history.Fail),
		},
	)
	if p := told(); p.Stale != 1 || p.Refused != 1 || p.Lost != 1 {
		t.Errorf("stale %d, refused %d, lost %d; want 1 each", p.Stale, p.Refused, p.Lost)
	}
}

// Until the clients begin, progress counts connected clients.
func TestProgressOfConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewView(Config{})
		var told []Progress
		r := NewReporter(ReporterConfig{View: l, Report: func(p Progress) { told = append(told, p) },
			Plan: Progress{Clients: 3}})
		r.SetPhase(history.PhaseConnect)
		l.add(
			[]history.Event{
				{Process: "c1", Client: "c1/0", Op: history.OpConnected},
				{Process: "c2", Client: "c2/0", Op: history.OpConnected},
			},
		)
		go r.Run()
		time.Sleep(1500 * time.Millisecond) // virtual
		r.SetPhase(history.PhaseWarmup)
		r.SetStart(time.Now().Add(300 * time.Millisecond))
		time.Sleep(time.Second)
		r.End()
		if len(told) != 2 || told[0].Elapsed != 0 || told[1].Elapsed != 200*time.Millisecond || len(told[1].Rates) != 0 {
			t.Fatalf("told %+v", told)
		}
		if got, want := told[0].String(), "       connect  2 of 3 clients connected"; got != want {
			t.Errorf("line %q, want %q", got, want)
		}
	})
}

// After the final heal every client whose process lives is owed a lock, and earlier grants do not count.
func TestViewOwed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewView(Config{Clock: history.NewClock()})
		got := func(client string, at int64) {
			l.add(
				[]history.Event{
					{At: at, Process: history.HostOf(client), Client: client, Lock: "l", Op: history.OpAcquire, Kind: history.OK},
				},
			)
		}
		exit := func(host string) {
			l.add(
				[]history.Event{
					{At: l.config.Clock.Now(), Process: host, Op: history.OpProcess, Mode: history.Mode(history.ProcessExited)},
				},
			)
		}
		exit("c3")
		from := l.Owe([]string{"c1/0", "c1/1", "c2/0", "c3/0"})
		got("c1/0", from-1)
		got("c1/1", from)
		if n := (State{l}).Owed(); n != 2 || !l.client("c1/0").owed || !l.client("c2/0").owed {
			t.Errorf("%d clients are owed a lock, want c1/0 and c2/0", n)
		}
		ended := make(chan error, 1)
		go func() { ended <- l.Wait(t.Context(), func(now State) bool { return now.Owed() == 0 }) }()
		got("c1/0", from+1)
		synctest.Wait()
		select {
		case <-ended:
			t.Fatal("over, although c2/0 has had no lock")
		default:
		}
		exit("c2")
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// A view keeps few of the holds of a lock that nobody waits for, even if the history of one process arrives long before
// that of another, and says that it no longer counts overlaps.
func TestViewOfACrowdedLock(t *testing.T) {
	const holds = 200_000
	l := NewView(Config{})
	for _, process := range []string{"c1", "c2"} {
		for i := range int64(holds) {
			e := history.Event{At: 10 * i, Process: process, Client: process + "/0", Acq: i + 1, Lock: "/l",
				Op: history.OpAcquire, Kind: history.OK}
			released := e
			released.At, released.Op, released.Kind = e.At+5, history.OpRelease, history.Invoke
			l.add([]history.Event{e, released})
		}
	}
	if n := len(l.lock("/l").ended); n > mostEnded {
		t.Errorf("%d ended holds are kept", n)
	}
	var p Progress
	if l.progress(&p, time.Now()); p.Overlaps != -1 || p.Acquired != 2*holds {
		t.Errorf("%d overlaps, %d acquired", p.Overlaps, p.Acquired)
	}
}

// Only what had to be committed counts as an answer: a server takes a session back by itself.
func TestAnswered(t *testing.T) {
	v := NewView(Config{Clock: history.NewClock()})
	connected := func(at int64) history.Event {
		return history.Event{At: at, Process: "c1", Client: "c1/0", Op: history.OpConnected, Session: 7}
	}
	for _, step := range []struct {
		event history.Event
		want  int64
	}{
		{connected(1), 1},
		{connected(2), 1},
		{history.Event{At: 3, Process: "c1", Client: "c1/0", Op: history.OpAcquire, Kind: history.Invoke, Lock: "l"}, 1},
		{history.Event{At: 4, Process: "c1", Client: "c1/0", Op: history.OpQueued, Lock: "l"}, 4},
		{history.Event{At: 5, Process: "c1", Client: "c1/0", Op: history.OpAcquire, Kind: history.OK, Lock: "l"}, 5},
		{history.Event{At: 6, Process: "c1", Client: "c1/0", Op: history.OpRelease, Kind: history.Info, Lock: "l"}, 5},
	} {
		v.Hear(step.event)
		v.Look(func(now State) {
			if now.Answered() != step.want {
				t.Errorf("after %s answered at %d, want %d", step.event, now.Answered(), step.want)
			}
		})
	}
}
