package result

import (
	"math"
	"strings"
	"testing"

	"locklab/chaos"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/measure"
)

var oneSecond = measure.Interval{From: 0, Until: synth.Ms(1000), End: synth.Ms(1000), Measured: true}

// strikeOf is a verified fault of hosts, in ms, that is seen to be over 5 ms after it was healed.
func strikeOf(id string, at, healed float64, hosts ...string) *strike {
	s := &strike{id: id, of: "kill holder", hosts: hosts, at: synth.Ms(at), verified: true, healed: math.MaxInt64,
		whole: math.MaxInt64}
	if healed != 0 {
		s.healed, s.whole = synth.Ms(healed), synth.Ms(healed+5)
	}
	return s
}

// with changes the fault.
func (s *strike) with(change func(s *strike)) *strike { change(s); return s }

// ofServers makes the fault one that takes servers out of the majority.
func ofServers(s *strike) { s.of, s.servers, s.disables = "kill leader", true, true }

// said writes failovers as "took" in ms, "≥" before it if censored, or why they are left out.
func said(all []Failover) string {
	var words []string
	for _, f := range all {
		switch {
		case f.TookNs == nil:
			words = append(words, string(f.LeftOut))
		case f.Censored:
			words = append(words, "≥"+Quantity{Unit: Nanoseconds}.Show(new(float64(*f.TookNs))))
		default:
			words = append(words, Quantity{Unit: Nanoseconds}.Show(new(float64(*f.TookNs))))
		}
	}
	return strings.Join(words, ", ")
}

// A failover of clients begins when a fault strikes the process that holds, and ends with the next grant, unless the
// holder has released the lock before that with success. c1/0 holds from 10, and c2/0, which asks at 5, from 60.
func TestFailoversOfHolders(t *testing.T) {
	held := func(released float64, outcome history.Kind) []history.Acquisition {
		a := synth.Grant("c1/0", 0, 1, 10, released)
		a.ReleaseOutcome = outcome
		if released == 0 {
			a.ReleaseInvoked, a.ReleaseReturned = history.None, history.None
		}
		return []history.Acquisition{a, synth.Grant("c2/0", 5, 6, 60, 90)}
	}
	read := held(0, history.OK)
	read[0].Claimant = &history.Claimant{Client: "c1/0", Lock: synth.TheLock, Mode: history.ModeRead}
	never := held(0, history.Info)
	never[1] = synth.Waiting("c2/0", 5, 6)
	late := held(0, history.Info)
	late[1] = synth.Grant("c2/0", 50, 51, 60, 90)
	lost := held(0, history.Info)
	lost[0].Trouble = &history.Trouble{Lost: synth.Ms(15), Died: history.None}
	died := held(0, history.Info) // its agent may see that a moment before it stamps the fault
	died[0].Trouble = &history.Trouble{Lost: history.None, Died: synth.Ms(19.9)}
	one := func(s *strike) []*strike { return []*strike{s} }
	for _, c := range []struct {
		name   string
		acq    []history.Acquisition
		faults []*strike
		want   string
	}{
		{"killed", held(0, history.Info), one(strikeOf("f", 20, 0, "c1")), "40 ms"},
		{"killed, and its end was seen before", died, one(strikeOf("f", 20, 0, "c1")), "40 ms"},
		{"one of two", held(0, history.Info), one(strikeOf("f", 20, 0, "c3", "c1")), "40 ms"},
		{"stopped, and releases later", held(70, history.Fail), one(strikeOf("f", 20, 65, "c1")), "40 ms"},
		{"released, but lost by then", held(50, history.Fail), one(strikeOf("f", 20, 0, "c1")), "40 ms"},
		{"healed before the next grant, which a session's end does not heed", held(0, history.Info),
			one(strikeOf("f", 20, 30, "c1")), "40 ms"},
		{"survived, and handed over", held(50, history.OK), one(strikeOf("f", 20, 0, "c1")), "handed over"},
		{"the next one of the same process", held(0, history.Info), one(strikeOf("f", 20, 0, "c1", "c2")), "nobody waited"},
		{"nobody had asked", late, one(strikeOf("f", 20, 0, "c1")), "nobody waited"},
		{"no grant any more", never, one(strikeOf("f", 20, 0, "c1")), "≥980 ms"},
		{"another client", held(0, history.Info), one(strikeOf("f", 20, 0, "c2")), "held no lock"},
		{"a release had begun", held(15, history.Info), one(strikeOf("f", 20, 0, "c1")), "held no lock"},
		{"the loss was known", lost, one(strikeOf("f", 20, 0, "c1")), "held no lock"},
		{"before the first grant", held(0, history.Info), one(strikeOf("f", 5, 0, "c1")), "held no lock"},
		{"a host that never asked", held(0, history.Info), one(strikeOf("f", 20, 0, "r1")), ""},
		{"readers", read, one(strikeOf("f", 20, 0, "c1")), "held no lock"},
		{"outside the window", held(0, history.Info), one(strikeOf("f", -20, 0, "c1")), ""},
		{"not verified", held(0, history.Info), one(strikeOf("f", 20, 0, "c1").with(func(s *strike) { s.verified = false })),
			"not verified"},
		{"while servers are struck", held(0, history.Info),
			[]*strike{strikeOf("s", 1, 15, "zk1").with(ofServers), strikeOf("f", 20, 0, "c1")}, "not in use, 40 ms"},
		{"before servers are back", held(0, history.Info),
			[]*strike{strikeOf("s", 1, 16, "zk1").with(ofServers), strikeOf("f", 20, 0, "c1")}, "not in use, another fault"},
		{"and the one who waits", held(0, history.Info),
			[]*strike{strikeOf("f", 20, 0, "c1"), strikeOf("g", 30, 0, "c2")}, "another fault, held no lock"},
		{"and one who does not", held(0, history.Info),
			[]*strike{strikeOf("f", 20, 0, "c1"), strikeOf("g", 30, 0, "c3")}, "40 ms"},
	} {
		if got := said(failoversAfter(c.faults, c.acq, history.GrantsByLock(c.acq), oneSecond)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A failover of servers is the longest time, while they are struck, in which nobody held the lock. Without a fault,
// clients hold for 4 ms and hand over within 1 ms; a holder's release waits for the servers.
func TestFailoversOfServers(t *testing.T) {
	// work is grants at these times, in turn to four clients, each until 4 ms later. All ask again at once.
	work := func(times ...float64) (all []history.Acquisition) {
		asked := map[int]float64{}
		for i, at := range times {
			k := i % 4
			a := synth.Grant("c"+string(rune('1'+k))+"/0", asked[k], asked[k], at, at+4)
			asked[k] = at + 5
			all = append(all, a)
		}
		for k := range 4 {
			all = append(all, synth.Waiting("c"+string(rune('1'+k))+"/0", asked[k], asked[k]))
		}
		return all
	}
	stands := work(10, 15, 20, 25, 225, 230, 400) // from 29 to 225
	keeps := work(10)
	keeps[0].ReleaseInvoked, keeps[0].ReleaseReturned = history.None, history.None
	alone := work(10, 15, 20, 25, 225)[:5]
	alone[4].Invoked = synth.Ms(200)
	for _, c := range []struct {
		name   string
		acq    []history.Acquisition
		faults []*strike
		want   string
	}{
		{"a grant that was under way", stands, []*strike{strikeOf("s", 24, 300, "zk1")}, "196 ms"},
		{"struck while the lock is free", stands, []*strike{strikeOf("s", 100, 300, "zk1")}, "125 ms"},
		{"brought back before there was a grant", stands, []*strike{strikeOf("s", 24, 129, "zk1")}, "≥100 ms"},
		{"over by itself", stands, []*strike{strikeOf("s", 24, 129, "zk1").with(func(s *strike) { s.momentary = true })},
			"196 ms"},
		{"never healed, never granted", stands, []*strike{strikeOf("s", 405, 0, "zk1")}, "≥595 ms"},
		{"held all the time", keeps, []*strike{strikeOf("s", 24, 300, "zk1")}, "kept"},
		{"not granted yet", stands, []*strike{strikeOf("s", 5, 8, "zk1")}, "not in use"},
		{"nobody waited", alone, []*strike{strikeOf("s", 24, 300, "zk1")}, "nobody waited"},
		{"two at once", stands, []*strike{strikeOf("s", 24, 300, "zk1"), strikeOf("t", 50, 60, "zk2")},
			"another fault, another fault"},
		{"one after the other", stands, []*strike{strikeOf("s", 24, 300, "zk1"), strikeOf("t", 350, 600, "zk2")},
			"196 ms, ≥196 ms"},
		{"not verified", stands, []*strike{strikeOf("s", 24, 300, "zk1").with(func(s *strike) { s.verified = false })},
			"not verified"},
	} {
		for _, s := range c.faults {
			ofServers(s)
		}
		if got := said(failoversAfter(c.faults, c.acq, history.GrantsByLock(c.acq), oneSecond)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	slow := strikeOf("s", 24, 300, "zk1").with(func(s *strike) { ofServers(s); s.disables = false })
	if got := failoversAfter([]*strike{slow}, stands, history.GrantsByLock(stands), oneSecond); got != nil {
		t.Errorf("a fault that takes no server out of the majority: %s", said(got))
	}
}

// A run whose record is not whole has no failovers, because a grant may be missing.
func TestFailoversOfAnIncompleteRecord(t *testing.T) {
	run, _ := synth.Act2Run(true)
	w := measure.MeasuredWindow(run.Events)
	if got := said(failoversOf(run, w)); got != "2.29 s" {
		t.Errorf("whole: %q", got)
	}
	run.Incomplete = []string{"c3/events.bin ends early"}
	if got := said(failoversOf(run, w)); got != "record not whole" {
		t.Errorf("not whole: %q", got)
	}
}

// The steps of a fault are read from the history, and what it is from the plan.
func TestStrikes(t *testing.T) {
	s := &synth.Synth{}
	s.Fault("f1", "kill", "zk2", 100, 300)
	s.Fault("f2", "kill", "c1", 400, 500)
	pause := history.FaultStep{Op: history.OpFaultInject, ID: "f3", Fault: "pause", Hosts: []string{"c1"}}
	s.Add(600, pause.Event(history.OK))
	pause.Op = history.OpFaultVerify
	s.Add(610, pause.Event(history.Fail))
	run := synth.RunOf(s.Sorted(), scenario.Scenario{})
	leader, err := chaos.ParseFault(map[string]string{"kind": "kill", "target": "leader", "at": "1s", "for": "1s"})
	if err != nil {
		t.Fatal(err)
	}
	run.Plan.Steps = []chaos.PlannedFault{{ID: "f1", Fault: leader}}
	all := strikes(run)
	if len(all) != 3 {
		t.Fatalf("%d faults", len(all))
	}
	a, b, c := all[0], all[1], all[2]
	if a.of != "kill leader" || !a.servers || !a.disables || a.at != synth.Ms(100) || a.healed != synth.Ms(300) ||
		a.whole != synth.Ms(303) || !a.verified || a.momentary {
		t.Errorf("%+v", a)
	}
	if b.of != "kill" || b.servers || !b.verified || c.verified || c.healed != math.MaxInt64 {
		t.Errorf("%+v, %+v", b, c)
	}
}
