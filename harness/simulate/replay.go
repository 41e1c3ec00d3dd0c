package simulate

import (
	"fmt"
	"math"
	"slices"
	"time"

	"locklab/chaos"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/workloads"
)

// What a replay lasts.
const (
	replays      = 6                      // how often its faults strike, so that chance has as many tries
	replayCalm   = 20 * time.Second       // without faults
	replayHold   = 20 * time.Millisecond  // where a fault waits for a hold
	replayThink  = 5 * time.Millisecond   // at most
	downgrades   = 1. / 3                 // as in the simulation
	replayWait   = 100 * time.Millisecond // at most, of clients that give up
	replayBefore = 500 * time.Millisecond // before the first fault
)

// Scenario returns a scenario that does on real servers what the run does, again and again: the same lock, guard and
// number of clients, and its faults in their order. A fault that struck a client under a hold waits for a hold; the
// others strike at their time. Times are stretched so that a session timeout is that of a scenario without keys.
func (x *Shrunk) Scenario() (*scenario.Scenario, error) {
	p, sc := x.plan, scenario.Defaults()
	sc.Name = fmt.Sprintf("replay-%s-%d", x.Recipe, x.Seed)
	sc.About = fmt.Sprintf("What seed %d of %s shows: %s", x.Seed, x.Recipe, x.Finding.Check)
	sc.Workload, sc.Recipe, sc.Guard = p.workload, x.Recipe, p.guard.Name
	sc.Hold.Centre, sc.Think.Centre = p.hold, min(p.think, replayThink)
	if p.wait > 0 { // so that about every second wait is given up
		sc.Wait = min(p.wait, replayWait)
		sc.Hold = workloads.Distribution{Kind: workloads.Exponential, Centre: sc.Wait}
	}
	switch p.workload {
	case workloads.Semaphore:
		sc.Permits, sc.Units = p.permits, p.units
	case workloads.ReadWrite:
		sc.ReadShare = p.reads
		if p.recipe.Downgrade {
			sc.DowngradeShare = downgrades
		}
	}
	names := map[int]string{} // of the clients that are left, by their number
	for c, turns := range p.turns {
		if len(turns) > 0 {
			names[c] = fmt.Sprintf("c%d", len(names)+1)
		}
	}
	sc.Clients = max(len(names), 1)
	sc.ClientProcesses = sc.Clients
	sc.Duration = replayCalm
	if len(p.faults) > 0 {
		if err := x.strike(sc, names); err != nil {
			return nil, err
		}
	}
	return sc, sc.Validate()
}

// strike gives the scenario the faults of the run, again and again.
func (x *Shrunk) strike(sc *scenario.Scenario, names map[int]string) error {
	stretch := float64(sc.SessionTimeout) / float64(x.plan.timeout)
	scaled := func(d time.Duration) time.Duration { return time.Duration(float64(d) * stretch) }
	var once []chaos.Fault
	var ends time.Duration
	first := x.plan.faults[0].at
	for i, f := range x.plan.faults {
		strikes, err := x.replayed(i, names)
		if err != nil {
			return err
		}
		for _, s := range strikes {
			if s.Trigger != "" {
				sc.Hold = workloads.Distribution{Centre: replayHold}
			}
			s.At += replayBefore + scaled(f.at-first)
			once = append(once, s)
		}
		ends = max(ends, f.at+f.lasts-first)
	}
	round := scaled(ends) + sc.SessionTimeout + sc.Recovery()
	for r := range replays {
		for _, s := range once {
			s.At = (s.At + time.Duration(r)*round).Round(time.Millisecond)
			sc.Faults = append(sc.Faults, s)
		}
	}
	sc.Duration = (replayBefore + replays*round).Round(time.Second)
	return nil
}

// replayed returns what the i-th fault of the run is on real servers. It is none if it struck a client that does not
// take part. A connection that breaks again and again is reset as often, because no real fault counts frames.
func (x *Shrunk) replayed(i int, names map[int]string) ([]chaos.Fault, error) {
	f, id := x.plan.faults[i], fmt.Sprintf("f%d", i+1)
	keys := map[string]string{"kind": f.kind}
	if f.target >= x.plan.clients {
		keys["target"] = string(chaos.TargetFollower)
		if x.led(id) {
			keys["target"] = string(chaos.TargetLeader)
		}
	} else {
		name, takesPart := names[f.target]
		if !takesPart {
			return nil, nil
		}
		if keys["target"] = name; x.heldAt(f) {
			keys["trigger"] = chaos.TriggerHold
			if x.Finding.Check == string(evidence.Effect) {
				keys["trigger"] = chaos.TriggerWrite
			}
		}
	}
	if f.kind == kindPartition || f.kind == kindReset {
		keys["from"] = chaos.FromServers
	}
	if f.kind == kindPartition && f.oneWay {
		keys["way"] = "in"
	}
	one, err := chaos.ParseFault(keys)
	if f.lasts > 0 && f.kind != kindReset {
		one.For = chaos.Span{Timeouts: math.Round(100*float64(f.lasts)/float64(x.plan.timeout)) / 100}
	}
	all := []chaos.Fault{one}
	for k := range f.again {
		one.At = time.Duration(k+1) * replayBefore / 5
		all = append(all, one)
	}
	return all, err
}

// led reports whether a fault struck the leader.
func (x *Shrunk) led(fault string) bool {
	for i := range x.Events {
		if e := &x.Events[i]; e.Op == history.OpFaultAim && e.Fault == fault {
			return true
		}
	}
	return false
}

// heldAt reports whether a fault struck its client under a hold.
func (x *Shrunk) heldAt(f planned) bool {
	return slices.ContainsFunc(history.Acquisitions(history.NewLog(x.Events)), func(a history.Acquisition) bool {
		return who(a.Client) == fmt.Sprintf("c%d", f.target+1) && a.Granted() && a.Returned < int64(f.at) &&
			(a.ReleaseInvoked == history.None || a.ReleaseInvoked >= int64(f.at))
	})
}
