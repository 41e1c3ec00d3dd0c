package watch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"locklab/chaos"
	"locklab/harness/history"
)

// threeClients are events of three clients: c1/0 holds, and c2/0 came before c3/1.
func threeClients() []history.Event {
	return []history.Event{
		{At: 1, Process: "c1", Client: "c1/0", Op: history.OpConnected, Session: 7, Target: "zk2"},
		{At: 2, Process: "c1", Client: "c1/0", Op: history.OpAcquire, Kind: history.Invoke, Lock: "/l", Acq: 1},
		{At: 3, Process: "c1", Client: "c1/0", Op: history.OpAcquire, Kind: history.OK, Lock: "/l", Acq: 1, Session: 7},
		{At: 4, Process: "c2", Client: "c2/0", Op: history.OpAcquire, Kind: history.Invoke, Lock: "/l", Acq: 1},
		{At: 5, Process: "c2", Client: "c2/0", Op: history.OpQueued, Lock: "/l", Acq: 1, Value: 1},
		{At: 6, Process: "c3", Client: "c3/1", Op: history.OpAcquire, Kind: history.Invoke, Lock: "/l", Acq: 1},
		{At: 7, Process: "c3", Client: "c3/1", Op: history.OpQueued, Lock: "/l", Acq: 1, Value: 2},
	}
}

// roles maps a role to the client or server that has it.
type roles map[chaos.Target]string

func TestFind(t *testing.T) {
	stopped := func(host string) history.Event {
		return history.Event{Process: host, Op: history.OpProcess, Mode: history.Mode(history.ProcessStopped)}
	}
	ended := func(host string) history.Event {
		return history.Event{Process: host, Op: history.OpProcess, Mode: history.Mode(history.ProcessExited)}
	}
	granted := history.Event{
		At:      9,
		Process: "c2",
		Client:  "c2/0",
		Op:      history.OpAcquire,
		Kind:    history.OK,
		Lock:    "/l",
		Acq:     1,
		Session: 8,
	}
	released := history.Event{
		At:      8,
		Process: "c1",
		Client:  "c1/0",
		Op:      history.OpRelease,
		Kind:    history.Invoke,
		Lock:    "/l",
		Acq:     1,
	}
	for name, c := range map[string]struct {
		more []history.Event
		want roles
	}{
		"all three work": {nil, roles{chaos.TargetHolder: "c1/0", chaos.TargetHolderServer: "zk2",
			chaos.TargetHeadWaiter: "c2/0", chaos.TargetWaiter: "c3/1"}},
		"the lock is passed on": {[]history.Event{released, granted},
			roles{chaos.TargetHolder: "c2/0", chaos.TargetHeadWaiter: "c3/1", chaos.TargetWaiter: "c3/1"}},
		"stopped clients are left out": {[]history.Event{stopped("c1"), stopped("c2")},
			roles{chaos.TargetHolder: "", chaos.TargetHeadWaiter: "c3/1"}},
		"ended clients are left out": {[]history.Event{ended("c1"), ended("c3")},
			roles{chaos.TargetHolder: "", chaos.TargetHolderServer: "", chaos.TargetWaiter: "c2/0"}},
		"all waiters have ended": {[]history.Event{ended("c2"), ended("c3")},
			roles{chaos.TargetWaiter: "", chaos.TargetHeadWaiter: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := NewView(Config{})
				l.add(append(threeClients(), c.more...))
				for role, want := range c.want {
					begun := time.Now()
					who, why, err := l.Find(t.Context(), role)
					switch {
					case want == "" && (!errors.Is(err, chaos.ErrNobody) || time.Since(begun) != roleCap):
						t.Errorf("%s: %q, %v after %v; want nobody after %v", role, who, err, time.Since(begun), roleCap)
					case want != "" && (who != want || why == "" || err != nil):
						t.Errorf("%s: %q (%s), %v; want %q", role, who, why, err, want)
					}
				}
			})
		})
	}
}

// A client whose recipe reports no places counts as waiting from when it asked until it has the lock. A client whose
// recipe does report them is in no queue before it has reported one.
func TestRolesOfLocksThatReportNoPlaces(t *testing.T) {
	unreported := slices.DeleteFunc(threeClients(), func(e history.Event) bool { return e.Op == history.OpQueued })
	for name, c := range map[string]struct {
		events []history.Event
		want   roles
	}{
		"no client reports places": {unreported,
			roles{chaos.TargetHolder: "c1/0", chaos.TargetHeadWaiter: "c2/0", chaos.TargetWaiter: "c3/1"}},
		"one of them is granted the lock": {append(slices.Clone(unreported), history.Event{At: 9, Process: "c2",
			Client: "c2/0", Op: history.OpAcquire, Kind: history.OK, Lock: "/l", Acq: 1, Session: 8}),
			roles{chaos.TargetHeadWaiter: "c3/1"}},
		"another client of a process that reports places": {append(threeClients(), history.Event{At: 8, Process: "c2",
			Client: "c2/1", Op: history.OpAcquire, Kind: history.Invoke, Lock: "/l", Acq: 1}),
			roles{chaos.TargetWaiter: "c3/1"}},
		"another client of a process that reports later": {[]history.Event{
			{At: 1, Process: "c1", Client: "c1/0", Op: history.OpAcquire, Kind: history.Invoke, Lock: "/l", Acq: 1},
			{At: 2, Process: "c1", Client: "c1/1", Op: history.OpAcquire, Kind: history.Invoke, Lock: "/l", Acq: 1},
			{At: 3, Process: "c1", Client: "c1/1", Op: history.OpQueued, Lock: "/l", Acq: 1}},
			roles{chaos.TargetHeadWaiter: "c1/1"}},
	} {
		l := NewView(Config{})
		l.add(c.events)
		for role, want := range c.want {
			if who, why, err := l.Find(t.Context(), role); who != want || why == "" || err != nil {
				t.Errorf("%s: %s is %q (%s), %v; want %q", name, role, who, why, err, want)
			}
		}
	}
}

// Find waits for a client to take the role; the end of the run is not reported as a lack of one.
func TestFindWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewView(Config{})
		time.AfterFunc(3*time.Second, func() { l.add(threeClients()) })
		if who, _, err := l.Find(t.Context(), chaos.TargetHolder); who != "c1/0" || err != nil {
			t.Errorf("%q, %v", who, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := NewView(Config{}).Find(ctx, chaos.TargetHolder); !errors.Is(err, context.Canceled) ||
			errors.Is(err, chaos.ErrNobody) {
			t.Errorf("%v", err)
		}
	})
}
