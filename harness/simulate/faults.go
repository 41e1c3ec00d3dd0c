package simulate

import (
	"fmt"
	"strings"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/recipes/zktest/sim"
	"locklab/reports/words"
)

// A strike is a fault of a run, which records each step of its life as the harness does.
type strike struct {
	*simulation
	planned
	id     string
	hosts  []*sim.Host
	server bool
}

// strikes plans the faults of the run.
func (s *simulation) strikes() {
	for i, f := range s.faults {
		x := &strike{simulation: s, planned: f, id: fmt.Sprintf("f%d", i+1)}
		if x.server = f.target >= len(s.clients); x.server {
			x.hosts = []*sim.Host{s.servers.Servers()[f.target-len(s.clients)]}
		} else {
			x.hosts = []*sim.Host{s.clients[f.target].Host}
		}
		s.strike = append(s.strike, x)
		s.w.At(f.at, nil, x.inject)
		s.known = append(s.known, evidence.PlannedFault{ID: x.id, Kind: f.kind, Target: x.hosts[0].Name, Drawn: true,
			HitsServer: x.server, OnlyReplies: f.kind == kindPartition && f.oneWay && !x.server})
	}
}

func (x *strike) say(op history.Op, kind history.Kind, detail string) {
	e := history.FaultStep{Op: op, ID: x.id, Fault: x.kind, Hosts: []string{x.hosts[0].Name}, Detail: detail}
	if x.kind == kindExpire && kind == history.OK {
		e.Session = history.SessionID(x.clients[x.target].session)
	}
	x.rec.harness(e.Event(kind))
}

// inject does what the fault does, and plans its end.
func (x *strike) inject() {
	if !x.server {
		x.aim()
	}
	h := x.hosts[0]
	if x.server && h == x.servers.Leader() {
		x.rec.harness(history.FaultStep{Op: history.OpFaultAim, ID: x.id, Fault: x.kind, Hosts: []string{h.Name},
			Leads: true}.Event(history.Info))
	}
	x.say(history.OpFaultInject, history.Invoke, "")
	if x.busy[h] > 0 && x.kind != kindPartition {
		x.say(history.OpFaultMissed, history.Fail, "another fault occupies the host")
		return
	}
	heal := func() {}
	switch x.kind {
	case kindPause:
		h.Pause()
		heal = func() {
			h.Resume()
			if !x.server { // as a client's process records it
				x.rec.at(x.w.Now(), h.Name, history.HiccupOf(int64(x.w.Now()), x.lasts))
			}
		}
	case kindKill:
		x.servers.Kill(h)
		heal = func() { x.servers.Start(h) }
	case kindPartition:
		heal = x.cut(h)
	case kindReset:
		x.servers.ResetNext(h, x.again...)
		x.servers.Reset(h)
		heal = func() { x.servers.ResetNext(h) }
		if c, until := x.clients[x.target], x.w.Now()+x.lasts; len(x.again) > 0 {
			x.running.Add(1)
			c.AfterFunc(c.delay, func() { c.look(until) })
		}
	case kindExpire:
		if !x.servers.Expire(x.clients[x.target].session) {
			x.say(history.OpFaultMissed, history.Fail, "there is no session, or no leader")
			return
		}
	}
	x.struck[x.kind]++
	x.busy[h]++
	x.say(history.OpFaultInject, history.OK, x.repeats())
	x.say(history.OpFaultVerify, history.OK, "")
	x.w.After(x.lasts, nil, func() {
		x.busy[h]--
		heal()
		x.say(history.OpFaultHeal, history.OK, "")
		x.verify()
	})
}

// repeats tells of the connections that break after the first.
func (x *strike) repeats() string {
	if len(x.again) == 0 {
		return ""
	}
	text := fmt.Sprintf("the next %s break too, after so many frames: ", words.Count(int64(len(x.again)), "connection"))
	return text + strings.Trim(fmt.Sprint(x.again), "[]")
}

// aim chooses another client than the drawn one, where the fault is for one that holds the lock or waits for it.
func (x *strike) aim() {
	since := x.w.Now()
	for i, c := range x.clients {
		if x.holder && c.holds || x.waiter && c.waits > 0 && c.waits < since {
			x.target, x.hosts[0], since = i, c.Host, c.waits
		}
	}
}

// verify records that the fault is over when it is: what was held up has arrived, and the servers serve.
func (x *strike) verify() {
	x.w.After(time.Second, nil, func() {
		if x.server && !x.servers.Serves() && x.w.Now() < x.heal+x.tick*20 {
			x.verify()
			return
		}
		x.say(history.OpFaultHealVerify, history.OK, "")
	})
}

// cut cuts a client off from the servers, or a server from the other servers.
func (x *strike) cut(h *sim.Host) (heal func()) {
	for _, s := range x.servers.Servers() {
		if s == h {
			continue
		}
		x.servers.Cut(s, h)
		if !x.oneWay {
			x.servers.Cut(h, s)
		}
	}
	return func() {
		for _, s := range x.servers.Servers() {
			if s == h {
				continue
			}
			x.servers.Heal(s, h)
			if !x.oneWay {
				x.servers.Heal(h, s)
			}
		}
	}
}
