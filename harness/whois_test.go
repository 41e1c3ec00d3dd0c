package harness

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"locklab/chaos"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// told is what three clients did: c1/0 holds, c2/0 came before c3/1.
func toldOfThree() []history.Event {
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

func TestWhoIs(t *testing.T) {
	stopped := func(host string) history.Event {
		return history.Event{Process: host, Op: history.OpProcess, Mode: history.ProcessStopped}
	}
	ended := func(host string) history.Event {
		return history.Event{Process: host, Op: history.OpProcess, Mode: history.ProcessExited}
	}
	granted := history.Event{At: 9, Process: "c2", Client: "c2/0", Op: history.OpAcquire, Kind: history.OK, Lock: "/l", Acq: 1, Session: 8}
	released := history.Event{At: 8, Process: "c1", Client: "c1/0", Op: history.OpRelease, Kind: history.Invoke, Lock: "/l", Acq: 1}
	for name, c := range map[string]struct {
		more []history.Event
		want map[string]string
	}{
		"as told": {nil, map[string]string{scenario.TargetHolder: "c1/0", scenario.TargetHolderServer: "zk2", scenario.TargetHeadWaiter: "c2/0", scenario.TargetWaiter: "c3/1"}},
		"then it is passed on": {[]history.Event{released, granted},
			map[string]string{scenario.TargetHolder: "c2/0", scenario.TargetHeadWaiter: "c3/1", scenario.TargetWaiter: "c3/1"}},
		"those who are stopped are left out":  {[]history.Event{stopped("c1"), stopped("c2")}, map[string]string{scenario.TargetHolder: "", scenario.TargetHeadWaiter: "c3/1"}},
		"those who have ended want no more":   {[]history.Event{ended("c1"), ended("c3")}, map[string]string{scenario.TargetHolder: "", scenario.TargetHolderServer: "", scenario.TargetWaiter: "c2/0"}},
		"a holder that ended while it waited": {[]history.Event{ended("c2"), ended("c3")}, map[string]string{scenario.TargetWaiter: "", scenario.TargetHeadWaiter: ""}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLive()
				l.add(append(toldOfThree(), c.more...))
				for role, want := range c.want {
					begun := time.Now()
					who, why, err := l.whoIs(t.Context(), role)
					switch {
					case want == "" && (!errors.Is(err, chaos.ErrNobody) || time.Since(begun) != nobodyCap):
						t.Errorf("%s: %q, %v after %v; want nobody after %v", role, who, err, time.Since(begun), nobodyCap)
					case want != "" && (who != want || why == "" || err != nil):
						t.Errorf("%s: %q (%s), %v; want %q", role, who, why, err, want)
					}
				}
			})
		})
	}
}

// Whose lock does not tell of places is taken to wait since it asked, until it has got the lock; one whose
// lock does is in no queue before it tells.
func TestWhoIsOfLocksThatTellNoPlaces(t *testing.T) {
	untold := slices.DeleteFunc(toldOfThree(), func(e history.Event) bool { return e.Op == history.OpQueued })
	for name, c := range map[string]struct {
		events []history.Event
		want   map[string]string
	}{
		"none tells": {untold, map[string]string{scenario.TargetHolder: "c1/0", scenario.TargetHeadWaiter: "c2/0", scenario.TargetWaiter: "c3/1"}},
		"one is granted": {append(slices.Clone(untold), history.Event{At: 9, Process: "c2", Client: "c2/0", Op: history.OpAcquire, Kind: history.OK, Lock: "/l", Acq: 1, Session: 8}),
			map[string]string{scenario.TargetHeadWaiter: "c3/1"}},
		"others of a process that tells": {append(toldOfThree(),
			history.Event{At: 8, Process: "c2", Client: "c2/1", Op: history.OpAcquire, Kind: history.Invoke, Lock: "/l", Acq: 1}), map[string]string{scenario.TargetWaiter: "c3/1"}},
		"others, before the first has told": {[]history.Event{
			{At: 1, Process: "c1", Client: "c1/0", Op: history.OpAcquire, Kind: history.Invoke, Lock: "/l", Acq: 1},
			{At: 2, Process: "c1", Client: "c1/1", Op: history.OpAcquire, Kind: history.Invoke, Lock: "/l", Acq: 1},
			{At: 3, Process: "c1", Client: "c1/1", Op: history.OpQueued, Lock: "/l", Acq: 1}}, map[string]string{scenario.TargetHeadWaiter: "c1/1"}},
	} {
		l := newLive()
		l.add(c.events)
		for role, want := range c.want {
			if who, why, err := l.whoIs(t.Context(), role); who != want || why == "" || err != nil {
				t.Errorf("%s: %s is %q (%s), %v; want %q", name, role, who, why, err, want)
			}
		}
	}
}

// Who is not there yet is waited for; an end of the run is no lack of somebody.
func TestWhoIsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLive()
		time.AfterFunc(3*time.Second, func() { l.add(toldOfThree()) })
		if who, _, err := l.whoIs(t.Context(), scenario.TargetHolder); who != "c1/0" || err != nil {
			t.Errorf("%q, %v", who, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := newLive().whoIs(ctx, scenario.TargetHolder); !errors.Is(err, context.Canceled) || errors.Is(err, chaos.ErrNobody) {
			t.Errorf("%v", err)
		}
	})
}
