package run

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"locklab/chaos"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/history"
	"locklab/harness/rundir"
)

// The targets that a run chooses are those that the histories show, such as the client next in the queue, the last
// one, or the stopped servers. A repeated fault happens each time it is due, and a drawn schedule is carried out as
// it was drawn.
func testSelectorsOfARun(t *testing.T, stage *Stage) {
	t.Run("named", func(t *testing.T) { namedFaults(t, stage) })
	t.Run("drawn", func(t *testing.T) { drawnFaults(t, stage) })
}

func namedFaults(t *testing.T, stage *Stage) {
	const hold = 500 * time.Millisecond
	out := runOn(t, stage, with(brief, "clients: 6", "hold: 500ms",
		"warmup: 3500ms", // six holds, so that nobody's place is left from when all came at once
		"duration: 7s", "min-acquired: 1", "liveness: 0", "drain: cancel", `faults:
  - {kind: delete-node, target: head-waiter, at: 300ms, every: 1500ms, repeat: 2}
  - {kind: expire-session, target: waiter, at: 1s, every: 1500ms, repeat: 2}
  - {kind: pause, target: majority, at: 4s, for: 300ms}`))
	events := readHistory(t, out.Dir)
	want := map[string]time.Duration{
		"f1.1": 300 * time.Millisecond,
		"f1.2": 1800 * time.Millisecond,
		"f2.1": time.Second,
		"f2.2": 2500 * time.Millisecond,
		"f3":   4 * time.Second,
	}
	steps := wantSteps(t, out.Dir, events)
	for id, at := range want {
		s, ok := steps[id]
		switch {
		case !ok:
			t.Errorf("%s: not in the timeline", id)
		case s.fault.Fault.At != at:
			t.Errorf("%s is planned for %s, want %s", id, s.fault.Fault.At, at)
		case s.injected == nil:
			t.Errorf("%s did not strike", id)
		}
	}
	if len(steps) != len(want) || t.Failed() {
		t.Fatalf("steps %v", slices.Sorted(maps.Keys(steps)))
	}
	for id, s := range steps {
		if s.fault.Fault.Target == chaos.TargetMajority {
			stopped := hostsIn(events, history.ProcessStopped, s.asked.At, s.healed.At)
			if hosts := strings.Split(s.aim.Target, ","); len(hosts) != 2 || !slices.Equal(hosts, stopped) {
				t.Errorf("%s: of three servers it came to %v, and %v were stopped", id, hosts, stopped)
			}
			continue
		}
		// The histories that had arrived may be older than the fault: beside eight busy loops, a little more than a hold.
		// Two holds are at most three clients at the head of the queue, of the five that wait.
		roles, waited := rolesBetween(events, s.fault.Fault.Target, s.asked.At-int64(2*hold), s.aim.At)
		client := clientOf(events, s.injected.Session)
		if !slices.Contains(roles, client) || history.HostOf(client) != s.aim.Target ||
			!strings.HasPrefix(s.aim.Detail, string(s.fault.Fault.Target)+": "+client+" ") {
			t.Errorf(
				"%s struck %s (aimed at %s, %q); by the histories the %s was %v",
				id,
				client,
				s.aim.Target,
				s.aim.Detail,
				s.fault.Fault.Target,
				roles,
			)
		}
		if len(roles) >= len(waited) {
			t.Errorf("%s: all of the waiting clients %v had the role, which proves nothing",
				id, slices.Sorted(maps.Keys(waited)))
		}
	}
	if t.Failed() {
		explain(t, out)
	}
}

func drawnFaults(t *testing.T, stage *Stage) {
	suite.Nightly(t, "a swarm of TestRunsWithFaults draws faults, too")
	src := with(
		brief,
		"schedule: random",
		"fault-interval: 700ms",
		"fault-length: 200ms..400ms",
		"fault-kinds: pause,move-client,delete-node,expire-session",
		"duration: 7s",
		"hold: 5ms",
		"liveness: 0",
	)
	out := runOn(t, stage, src)
	events := readHistory(t, out.Dir)
	steps := wantSteps(t, out.Dir, events)
	drawn := load(t, src).Plan(nil)
	struck := 0
	for _, p := range drawn.Steps {
		s, ok := steps[p.ID]
		if !ok || !p.Drawn {
			t.Errorf("%s (%s), drawn %t: in the timeline %t", p.ID, p.Fault, p.Drawn, ok)
			continue
		}
		if diff := gocmp.Diff(p.Fault, s.fault.Fault); diff != "" {
			t.Errorf("%s is another (-drawn +kept):\n%s", p.ID, diff)
		}
		switch target := p.Fault.Target; {
		case s.injected == nil && !s.missed:
			t.Errorf("%s (%s) neither struck nor found nobody", p.ID, p.Fault)
		case s.injected == nil:
		default:
			struck++
			if s.aim.Fault == "" || target.IsHost() && s.aim.Target != string(target) ||
				p.Fault.HitsClient() && !strings.HasPrefix(s.aim.Target, "c") ||
				target == chaos.TargetLeader && s.aim.Value != 1 ||
				target == chaos.TargetFollowers && s.aim.Value != 0 {
				t.Errorf("%s (%s) came to %s (%s)", p.ID, p.Fault, s.aim.Target, s.aim.Detail)
			}
		}
	}
	if len(steps) != len(drawn.Steps) || struck < 3 {
		t.Errorf("%d steps were drawn, %d are in the timeline, %d struck", len(drawn.Steps), len(steps), struck)
	}
	if t.Failed() {
		explain(t, out)
	}
}

// A stepDone is a planned fault of a run with its events; missing ones are nil.
type stepDone struct {
	fault            chaos.PlannedFault
	asked            history.Event
	aim              history.Event // the last
	injected, healed *history.Event
	missed           bool
}

// wantSteps returns the planned faults of a run with their events, by id. No fault may come before it is due.
func wantSteps(t *testing.T, dir string, events []history.Event) map[string]*stepDone {
	t.Helper()
	plan, err := rundir.ReadTimeline(dir, load(t, small))
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]*stepDone{}
	for _, s := range plan.Steps {
		steps[s.ID] = &stepDone{fault: s}
	}
	var measure int64
	for i := range events {
		e := &events[i]
		if e.Op == history.OpPhase && e.Phase() == history.PhaseMeasure {
			measure = e.At
		}
		s := steps[e.Fault]
		if s == nil {
			continue
		}
		switch {
		case e.Op == history.OpFaultInject && e.Kind == history.Invoke:
			if s.asked = *e; measure == 0 || e.At < measure+int64(s.fault.Fault.At) {
				t.Errorf(
					"%s was begun %s after the window, and is due at %s",
					e.Fault,
					time.Duration(e.At-measure),
					s.fault.Fault.At,
				)
			}
		case e.Op == history.OpFaultAim:
			s.aim = *e
		case e.Op == history.OpFaultInject && e.Kind == history.OK:
			s.injected = e
		case e.Op == history.OpFaultHeal && e.Kind == history.OK:
			s.healed = e
		case e.Op == history.OpFaultMissed:
			s.missed = true
		}
	}
	return steps
}

// rolesBetween returns the clients that were first, or last, in the queue at any time of an interval, and all that
// waited then.
func rolesBetween(
	events []history.Event,
	role chaos.Target,
	from, until int64,
) (clients []string, waited map[string]int64) {
	queued := map[string]int64{}
	waited = map[string]int64{}
	note := func() {
		maps.Copy(waited, queued)
		order := func(a, b string) int { return cmp.Compare(queued[a], queued[b]) }
		all := slices.SortedFunc(maps.Keys(queued), order)
		if len(all) == 0 {
			return
		}
		who := all[0]
		if role == chaos.TargetWaiter {
			who = all[len(all)-1]
		}
		if !slices.Contains(clients, who) {
			clients = append(clients, who)
		}
	}
	begun := false
	for i := range events {
		e := &events[i]
		if e.At > until {
			break
		}
		if e.At >= from && !begun {
			begun = true
			note()
		}
		switch e.Op {
		case history.OpQueued:
			queued[e.Client] = e.At
		case history.OpAcquire:
			delete(queued, e.Client)
		default:
			continue
		}
		if begun {
			note()
		}
	}
	return clients, waited
}

// clientOf returns the client that has a session.
func clientOf(events []history.Event, s history.SessionID) string {
	i := slices.IndexFunc(events, func(e history.Event) bool { return e.Op == history.OpConnected && e.Session == s })
	if i < 0 {
		return ""
	}
	return events[i].Client
}

// hostsIn returns the hosts whose process entered a state between two times, in order.
func hostsIn(events []history.Event, state history.ProcessState, from, until int64) (hosts []string) {
	for i := range events {
		if e := &events[i]; e.ProcessIs(state) && e.At >= from && e.At <= until {
			hosts = append(hosts, e.Process)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
