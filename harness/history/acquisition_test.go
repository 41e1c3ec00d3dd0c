package history

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ev is an event of client c1/0 about its n-th acquisition of lock /l.
func ev(at int64, op Op, kind Kind, n int64) Event {
	return Event{At: at, Process: "c1", Client: "c1/0", Lock: "/l", Op: op, Kind: kind, Acq: n}
}

func exited(at int64, process string) Event {
	e := ProcessChange{State: ProcessExited}.Event()
	e.At, e.Process = at, process
	return e
}

// acquisition is an acquisition of client c1/0 that was only invoked.
func acquisition(n, invoked int64) Acquisition {
	return Acquisition{Claimant: &Claimant{Process: "c1", Client: "c1/0", Lock: "/l"}, N: n, Invoked: invoked,
		Queued: None, Returned: None, ReleaseInvoked: None, ReleaseReturned: None, Trouble: &Trouble{Lost: None, Died: None}}
}

func of(lock string, e Event) Event { e.Lock = lock; return e }

func permit(e Event, k int64) Event { e.Mode, e.Value = ModePermit, k; return e }

func with(a Acquisition, change func(*Acquisition)) Acquisition {
	claimant, trouble := *a.Claimant, *a.Trouble
	a.Claimant, a.Trouble = &claimant, &trouble
	change(&a)
	return a
}

func TestAcquisitions(t *testing.T) {
	granted := ev(3, OpAcquire, OK, 1)
	granted.Token, granted.Session = 77, 0xabc
	lost := ev(5, OpLost, Info, 1)
	lost.Detail = "session expired"
	refused := ev(4, OpAcquire, Fail, 1)
	refused.Detail = TextTimedOut
	heldUntil3 := with(acquisition(1, 1),
		func(a *Acquisition) { a.Returned, a.Outcome, a.Token, a.Session = 3, OK, 77, 0xabc })
	read := ev(4, OpRead, OK, 1)
	read.Process = "r1"
	for _, c := range []struct {
		name   string
		events []Event
		want   []Acquisition
	}{
		{"nothing", nil, nil},
		{"whole", []Event{ev(1, OpAcquire, Invoke, 1), ev(2, OpQueued, Info, 1), granted, read,
			ev(6, OpRelease, Invoke, 1), ev(7, OpRelease, OK, 1)},
			[]Acquisition{with(heldUntil3, func(a *Acquisition) {
				a.Queued, a.ReleaseInvoked, a.ReleaseReturned, a.ReleaseOutcome = 2, 6, 7, OK
			})}},
		{"queued twice: the first counts", []Event{ev(1, OpAcquire, Invoke, 1), ev(2, OpQueued, Info, 1),
			ev(3, OpQueued, Info, 1)},
			[]Acquisition{with(acquisition(1, 1), func(a *Acquisition) { a.Queued = 2 })}},
		{"timed out", []Event{ev(1, OpAcquire, Invoke, 1), refused, exited(9, "c1")},
			[]Acquisition{with(acquisition(1, 1), func(a *Acquisition) {
				a.Returned, a.Outcome, a.Reason, a.Error = 4, Fail, FailTimedOut, TextTimedOut
			})}},
		{"lost, then released too late", []Event{ev(1, OpAcquire, Invoke, 1), granted, lost, ev(6, OpRelease, Invoke, 1),
			ev(7, OpRelease, Fail, 1)},
			[]Acquisition{with(heldUntil3, func(a *Acquisition) {
				a.Lost, a.LostCause, a.ReleaseInvoked, a.ReleaseReturned, a.ReleaseOutcome = 5, "session expired", 6, 7, Fail
			})}},
		{"died waiting", []Event{ev(1, OpAcquire, Invoke, 1), exited(9, "c1")},
			[]Acquisition{with(acquisition(1, 1), func(a *Acquisition) { a.Died = 9 })}},
		{"died holding", []Event{ev(1, OpAcquire, Invoke, 1), granted, exited(9, "c1")},
			[]Acquisition{with(heldUntil3, func(a *Acquisition) { a.Died = 9 })}},
		{"died releasing", []Event{ev(1, OpAcquire, Invoke, 1), granted, ev(6, OpRelease, Invoke, 1), exited(9, "c1")},
			[]Acquisition{with(heldUntil3, func(a *Acquisition) { a.ReleaseInvoked, a.Died = 6, 9 })}},
		{"died long after", []Event{ev(1, OpAcquire, Invoke, 1), granted, ev(6, OpRelease, Invoke, 1),
			ev(7, OpRelease, OK, 1), exited(9, "c1")},
			[]Acquisition{with(heldUntil3, func(a *Acquisition) {
				a.ReleaseInvoked, a.ReleaseReturned, a.ReleaseOutcome = 6, 7, OK
			})}},
		{"another process died", []Event{ev(1, OpAcquire, Invoke, 1), granted, exited(9, "c2")}, []Acquisition{heldUntil3}},
		{"restarted under the same name, counting from 1 again",
			[]Event{ev(1, OpAcquire, Invoke, 1), granted, exited(9, "c1"), ev(10, OpAcquire, Invoke, 1),
				ev(11, OpAcquire, OK, 1), exited(12, "c1")},
			[]Acquisition{with(heldUntil3, func(a *Acquisition) { a.Died = 9 }),
				with(acquisition(1, 10), func(a *Acquisition) { a.Returned, a.Outcome, a.Died = 11, OK, 12 })}},
		{"several locks under one number",
			[]Event{of("/a", ev(1, OpAcquire, Invoke, 1)), of("/b", ev(1, OpAcquire, Invoke, 1)),
				of("/a", ev(2, OpAcquire, OK, 1)), of("/b", ev(3, OpAcquire, OK, 1)),
				of("/b", ev(6, OpLost, Info, 1)), of("/a", ev(7, OpRelease, Invoke, 1)), of("/a", ev(8, OpRelease, OK, 1)),
				exited(9, "c1")},
			[]Acquisition{
				with(acquisition(1, 1), func(a *Acquisition) {
					a.Lock, a.Returned, a.Outcome, a.ReleaseInvoked, a.ReleaseReturned, a.ReleaseOutcome = "/a", 2, OK, 7, 8, OK
				}),
				with(acquisition(1, 1), func(a *Acquisition) {
					a.Lock, a.Returned, a.Outcome, a.Lost, a.Died = "/b", 3, OK, 6, 9
				})}},
		{"permits", []Event{permit(ev(1, OpAcquire, Invoke, 1), 3), permit(ev(2, OpAcquire, OK, 1), 2),
			permit(ev(3, OpAcquire, Invoke, 2), 2), permit(ev(4, OpAcquire, OK, 2), 0),
			permit(ev(5, OpAcquire, Invoke, 3), 0), permit(ev(6, OpAcquire, OK, 3), 0),
			permit(ev(7, OpAcquire, Invoke, 4), 5)},
			[]Acquisition{
				with(acquisition(1, 1), func(a *Acquisition) { a.Mode, a.Permits, a.Returned, a.Outcome = ModePermit, 2, 2, OK }),
				with(acquisition(2, 3), func(a *Acquisition) { a.Mode, a.Permits, a.Returned, a.Outcome = ModePermit, 2, 4, OK }),
				with(acquisition(3, 5), func(a *Acquisition) { a.Mode, a.Permits, a.Returned, a.Outcome = ModePermit, 1, 6, OK }),
				with(acquisition(4, 7), func(a *Acquisition) { a.Mode, a.Permits = ModePermit, 5 })}},
		{"without its head", []Event{granted, ev(6, OpRelease, Invoke, 1)}, nil},
		{"the resource's own record is not a client's", []Event{read}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.want {
				c.want[i].Place = int32(i)
			}
			if d := cmp.Diff(c.want, Acquisitions(NewLog(c.events))); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

// TestConflict is model M3: a row and a column for each mode.
func TestConflict(t *testing.T) {
	modes := []Mode{ModeExclusive, ModeWrite, ModeRead, ModePermit}
	want := []string{"yes yes yes no", "yes yes yes no", "yes yes no no", "no no no no"}
	for i, a := range modes {
		for k, b := range modes {
			if got, want := Conflict(a, b), strings.Fields(want[i])[k] == "yes"; got != want {
				t.Errorf("%q and %q conflict: %v", a, b, got)
			}
		}
	}
}

func TestBelievedUntil(t *testing.T) {
	const end = 100
	for _, c := range []struct {
		released, lost, died, want int64
	}{
		{None, None, None, end}, {50, None, None, 50}, {50, 40, None, 40}, {50, None, 30, 30}, {None, 60, 70, 60},
		{120, None, None, end},
	} {
		a := Acquisition{ReleaseInvoked: c.released, Trouble: &Trouble{Lost: c.lost, Died: c.died}}
		if got := a.BelievedUntil(end); got != c.want {
			t.Errorf("released %d, lost %d, died %d: believed until %d, want %d", c.released, c.lost, c.died, got, c.want)
		}
	}
}

// Events survive their JSON, as in history.jsonl.
func TestJSONL(t *testing.T) {
	want := []Event{
		{At: -5, Process: "harness", Kind: Info, Op: OpBegin, Value: 7, Detail: "<mutex> & co"},
		{
			At:      9,
			Process: "c1",
			Kind:    Invoke,
			Op:      OpAcquire,
			Client:  "c1/0",
			Acq:     1,
			Lock:    "/l",
			Mode:    "read",
			Token:   1 << 62,
			Session: -1,
			Target:  "zk1",
			Fault:   "f1",
		},
		{At: 10, Process: "c1", Kind: Fail, Op: OpAcquire},
	}
	var b strings.Builder
	if err := WriteJSONL(&b, NewLog(want)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != len(want) {
		t.Errorf("%d lines for %d events", n, len(want))
	}
	var got []Event
	for line := range strings.Lines(b.String()) {
		var e Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := json.Unmarshal([]byte(`{"kind":"maybe"}`), new(Event)); err == nil {
		t.Error("an unknown kind is read")
	}
}
