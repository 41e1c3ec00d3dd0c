package history

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A payload that is made into an event is read from the event unchanged.
func TestPayloads(t *testing.T) {
	claim := Claim{Client: "c1/0", Acq: 3, Lock: "/l", Mode: ModePermit, Permits: 2, Token: 9, Session: 0xabc}
	write := claim
	write.Mode, write.Permits = ModeWrite, 0
	session := SessionChange{Op: OpConnected, Client: "c1/0", Session: 0xabc, Server: "zk1", Timeout: 6 * time.Second}
	strike := Strike{Fault: "f1", Client: "c1/0", Session: 0xabc, Action: "expire", Server: "zk1"}
	process := ProcessChange{State: ProcessStopped, PID: 17, Detail: "SIGSTOP"}
	network := NetworkChange{State: NetworkReset, Rule: "f1", Peers: "[zk1 zk2]", Connections: 4}
	step := FaultStep{
		Op:      OpFaultInject,
		ID:      "f1",
		Fault:   "pause",
		Hosts:   []string{"zk1", "zk2"},
		Session: 0xabc,
		Detail:  "d",
	}
	aim := FaultStep{Op: OpFaultAim, ID: "f1", Fault: "pause", Hosts: []string{"zk1"}, Leads: true}
	permitted := Access{Value: 7, Slot: NewSlot(1), Detail: "stale"}
	driver := Driver{Command: "lock -v", Scope: "per-client", Declares: "layout=queue pings"}
	appended := Access{Value: 7, Behind: NewBehind(6)}
	for _, c := range []struct {
		event Event
		read  func(*Event) any
		want  any
	}{
		{session.Event(), func(e *Event) any { return e.SessionChange() }, session},
		{strike.Event(), func(e *Event) any { return e.Strike() }, strike},
		{claim.Trigger("f1", "before-write", NewSlot(1)).Struck(0xabc, "zk1"), func(e *Event) any { return e.Strike() },
			Strike{Fault: "f1", Client: "c1/0", Session: 0xabc, Action: "before-write"}},
		{claim.Trigger("f1", "before-write", NewSlot(1)), func(e *Event) any { return e.Access().Slot }, NewSlot(1)},
		{write.Trigger("f1", "before-write", "").Struck(0xabc, "zk1"), func(e *Event) any { return e.Strike().Server },
			"zk1"},
		{process.Event(), func(e *Event) any { return e.ProcessChange() }, process},
		{process.Event(), func(e *Event) any { return e.ProcessIs(ProcessStopped) }, true},
		{network.Event(), func(e *Event) any { return e.NetworkChange() }, network},
		{step.Event(OK), func(e *Event) any { return e.FaultStep() }, step},
		{aim.Event(Info), func(e *Event) any { return e.FaultStep() }, aim},
		{claim.Access(OpRead, OK, permitted), func(e *Event) any { return e.Access() }, permitted},
		{write.Access(OpWrite, OK, appended), func(e *Event) any { return e.Access() }, appended},
		{claim.Acquire(), func(e *Event) any { return e.Permits() }, int64(2)},
		{write.Acquire(), func(e *Event) any { return e.Permits() }, int64(0)},
		{claim.Queued(5), func(e *Event) any { return e.Ahead() }, int64(5)},
		{claim.Attempt("_c_1"), func(e *Event) any { return e.Attempt() }, "_c_1"},
		{PhaseBegins(5, PhaseDrain), func(e *Event) any { return e.Phase() }, PhaseDrain},
		{Ends(EndInterrupt, ""), func(e *Event) any { return e.Ending() }, EndInterrupt},
		{Ends(EndSpared, "slow"), func(e *Event) any { return e.EndedBecause() }, "slow"},
		{driver.Event(), func(e *Event) any { return [3]any{e.Driver(), e.Driver().Pings(), e.Driver().Shared()} },
			[3]any{driver, true, false}},
		{Ping{Server: "zk1", Node: "/p", Took: 5}.Event(7), func(e *Event) any { return e.Ping() },
			Ping{Server: "zk1", Node: "/p", Took: 5}},
		{Ping{Server: "zk1", Took: 5}.Event(7), func(e *Event) any { return [2]any{e.Ping(), e.Kind} },
			[2]any{Ping{Server: "zk1", Took: 5}, Fail}},
		{ProcessorTime{Host: "zk1", PID: 17, Used: 5}.Event(7), func(e *Event) any { return e.ProcessorTime() },
			ProcessorTime{Host: "zk1", PID: 17, Used: 5}},
		{Begins(12, "mutex", "a-1"), func(e *Event) any { return e.Base() }, int64(12)},
		{Begins(12, "mutex", "a-1"), func(e *Event) any { return e.Run() }, "a-1"},
		{Heading{Run: "a-1", File: "c1/f"}.Event(), func(e *Event) any { return e.Heading() },
			Heading{Run: "a-1", File: "c1/f"}},
		{Received{File: "c1/f", Bytes: 5, Detail: "cut"}.Event(Fail), func(e *Event) any { return e.Received() },
			Received{File: "c1/f", Bytes: 5, Detail: "cut"}},
		{WallClock{Host: "zk1", Wall: 99, Took: 3}.Event(5), func(e *Event) any { return e.WallClock() },
			WallClock{Host: "zk1", Wall: 99, Took: 3}},
		{ClockReading{Host: "c1", Clock: "x", Shows: 7, Asked: 5, Took: 3}.Event(),
			func(e *Event) any { return e.ClockReading() },
			ClockReading{Host: "c1", Clock: "x", Shows: 7, Asked: 5, Took: 3}},
		{ClockReading{Host: "c1", Clock: "x", Same: true}.Event(), func(e *Event) any { return e.ClockReading() },
			ClockReading{Host: "c1", Clock: "x", Same: true}},
		{ServerLog{Server: "zk1", LastZxid: 8}.Event(Info), func(e *Event) any { return e.ServerLog() },
			ServerLog{Server: "zk1", LastZxid: 8}},
		{ServerLog{Server: "zk1", Bytes: 8, LastZxid: 9}.Event(OK), func(e *Event) any { return e.ServerLog() },
			ServerLog{Server: "zk1", Bytes: 8, LastZxid: 9}},
		{Standing{Server: "zk1", Role: "leader", Up: true, Committed: true, Zxid: 9, Counters: "c"}.Event(7),
			func(e *Event) any { return e.Standing() },
			Standing{Server: "zk1", Role: "leader", Up: true, Committed: true, Zxid: 9, Counters: "c"}},
		{Standing{Server: "zk1"}.Event(7), func(e *Event) any { return e.Standing() }, Standing{Server: "zk1"}},
		{FinalHealed(5, OK, "zk1 was stopped"), func(e *Event) any { return e.Leftovers() }, "zk1 was stopped"},
		{Final{Lock: "/l", Value: 4, Version: 5}.Event(), func(e *Event) any { return e.Final() },
			Final{Lock: "/l", Value: 4, Version: 5}},
		{ElementOf("/l", 4), func(e *Event) any { return e.Element() }, int64(4)},
		{HiccupOf(5, time.Second), func(e *Event) any { return e.Hiccup() }, time.Second},
		{Hiccups{Count: 3, Distribution: "d"}.Event(), func(e *Event) any { return e.Hiccups() },
			Hiccups{Count: 3, Distribution: "d"}},
		{ResidentOf(99), func(e *Event) any { return e.Resident() }, int64(99)},
	} {
		if d := cmp.Diff(c.want, c.read(&c.event)); d != "" {
			t.Errorf("%v (-want +got)\n%s", c.event, d)
		}
	}
	if n, err := NewSlot(12).Number(); n != 12 || err != nil {
		t.Errorf("slot 12 has number %d, %v", n, err)
	}
	if _, err := Slot("slot-x").Number(); err == nil {
		t.Error("slot-x has a number")
	}
}

// The recorded form of events is a contract: run directories are read by later versions.
func TestRecordedForm(t *testing.T) {
	claim := Claim{Client: "c1/0", Acq: 3, Lock: "/l", Token: 9, Session: 0xabc}
	permit := claim
	permit.Mode, permit.Permits = ModePermit, 2
	acquire := Event{Op: OpAcquire, Client: "c1/0", Acq: 3, Lock: "/l", Token: 9, Session: 0xabc}
	as := func(e Event, change func(*Event)) Event {
		change(&e)
		return e
	}
	for _, c := range []struct{ got, want Event }{
		{claim.Acquire(), as(acquire, func(e *Event) { e.Kind = Invoke })},
		{permit.Granted(), as(acquire, func(e *Event) { e.Kind, e.Mode, e.Value = OK, "permit", 2 })},
		{claim.NotGranted(FailTimedOut, TextTimedOut), as(acquire, func(e *Event) {
			e.Kind, e.Target, e.Detail = Fail, "timed-out", "timed out"
		})},
		{permit.Queued(1), as(acquire, func(e *Event) { e.Op, e.Mode, e.Value = "queued", "permit", 1 })},
		{claim.Attempt("_c_"), as(acquire, func(e *Event) { e.Op, e.Detail = "attempt", "_c_" })},
		{claim.Release(), as(acquire, func(e *Event) { e.Op, e.Kind = "release", Invoke })},
		{claim.Released(Info, "closing"), as(acquire, func(e *Event) { e.Op, e.Detail = "release", "closing" })},
		{permit.Lost("expired"), as(acquire, func(e *Event) { e.Op, e.Mode, e.Detail = "lost", "permit", "expired" })},
		{permit.Trigger("f1", "before-write", NewSlot(1)), as(acquire, func(e *Event) {
			e.Op, e.Mode, e.Fault, e.Detail, e.Target = "trigger", "permit", "f1", "before-write", "slot-1"
		})},
		{claim.Access(OpWrite, Invoke, Access{Value: 7, Behind: NewBehind(6)}), as(acquire, func(e *Event) {
			e.Op, e.Kind, e.Value, e.Target = "write", Invoke, 7, "behind-6"
		})},
		{Arrived("c1/0", 3, 5), Event{At: 5, Op: "arrive", Client: "c1/0", Acq: 3}},
		{Dropped(5), Event{At: 5, Op: "dropped"}},
		{Strike{Fault: "f1", Client: "c1/0", Action: "move"}.Missed(),
			Event{Op: "strike", Kind: Fail, Client: "c1/0", Fault: "f1", Detail: "move: it has no session"}},
		{ProcessChange{State: ProcessExited, PID: 4, Detail: "exit status 1"}.Event(),
			Event{Op: "process", Mode: "exited", Value: 4, Detail: "exit status 1"}},
		{NetworkChange{State: NetworkBlocked, Rule: "f1", Peers: "p"}.Event(),
			Event{Op: "network", Mode: "blocked", Fault: "f1", Target: "p"}},
		{FaultStep{Op: OpFaultAim, ID: "f1", Fault: "pause", Hosts: []string{"zk1", "zk2"}, Leads: true,
			Detail: "d"}.Event(Info),
			Event{Op: "fault-aim", Fault: "f1", Mode: "pause", Target: "zk1,zk2", Value: 1, Detail: "d"}},
		{Begins(12, "mutex", "a-1"), Event{At: 12, Op: "begin", Value: 12, Target: "a-1", Detail: "mutex"}},
		{Heading{Run: "a-1", File: "c1/f"}.Event(), Event{Op: "record-heading", Target: "c1/f", Detail: "a-1"}},
		{Received{File: "c1/f", Bytes: 5, Detail: "cut"}.Event(Fail),
			Event{Op: "record-received", Kind: Fail, Target: "c1/f", Value: 5, Detail: "cut"}},
		{endMark(7, 0xab), Event{Op: "record-end", Value: 7, Detail: "ab"}},
		{Content{File: "env.json", Bytes: 7, Sum: "ab"}.Event(),
			Event{Op: "file-content", Target: "env.json", Value: 7, Detail: "ab"}},
		{PhaseBegins(5, PhaseWarmup), Event{At: 5, Op: "phase", Detail: "warm-up"}},
		{Ends(EndBroken, ""), Event{Op: "end", Detail: "broken"}},
		{SnapshotOf("metrics.json", 10, 30), Event{At: 20, Op: "snapshot", Value: 20, Detail: "metrics.json"}},
		{Ready(4), Event{Op: "ready", Value: 4}},
		{Done(), Event{Op: "done"}},
		{Resized("/l", 3), Event{Op: "resize", Lock: "/l", Value: 3}},
		{Resizing("/l", 3), Event{Op: "resize", Kind: Invoke, Lock: "/l", Value: 3}},
		{QueueHead("/l", 0xabc, 9), Event{Op: "held", Lock: "/l", Session: 0xabc, Token: 9}},
		{Final{Lock: "/l", Value: 4, Version: 5}.Event(), Event{Op: "final", Lock: "/l", Value: 4, Token: 5}},
		{ServerLog{Server: "zk1", Bytes: 8, Detail: "d"}.Event(Fail),
			Event{Op: "server-log", Kind: Fail, Target: "zk1", Value: 8, Detail: "d"}},
	} {
		if d := cmp.Diff(c.want, c.got); d != "" {
			t.Errorf("%v (-want +got)\n%s", c.want, d)
		}
	}
}

// Acquires that failed before clients recorded the reason are told by their texts.
func TestFailReason(t *testing.T) {
	for _, c := range []struct {
		target, detail string
		want           FailReason
		byWorkload     bool
	}{
		{"timed-out", "whatever it says", FailTimedOut, true},
		{"error", "zk: connection timeout", FailError, false},
		{"", "timed out", FailTimedOut, true},
		{"", "busy: it would have to wait", FailBusy, true},
		{"", "cancelled at the end of the run", FailCancelled, true},
		{"", "zk: Connection Timeout", FailDeadline, false},
		{"", "acquire: context deadline exceeded", FailDeadline, false},
		{"", "acquire: context canceled", FailAborted, false},
		{"", "session expired", FailError, false},
		{"", "", FailError, false},
	} {
		got := failReason(&Event{Op: OpAcquire, Kind: Fail, Target: c.target, Detail: c.detail})
		if got != c.want || got.ByWorkload() != c.byWorkload {
			t.Errorf("%q %q failed because of %s (by the workload: %v), want %s", c.target, c.detail, got, got.ByWorkload(),
				c.want)
		}
	}
}
