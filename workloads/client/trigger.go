package client

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"locklab/harness/history"
	"locklab/workloads/control"
)

// triggers are points at which a client stops its own process, or does harm to its own session. Only
// the client can hit a hold that lasts milliseconds.
type triggers struct {
	mu    sync.Mutex
	armed map[string]trigger // by point
}

// A trigger is the action that is armed at a point, and the fault that it belongs to.
type trigger struct{ fault, action string }

func (t *triggers) arm(fault, point, action string) error {
	if action != control.StrikeStop && action != control.StrikeExpire && action != control.StrikeMove {
		return fmt.Errorf("unknown strike %q", action)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.armed == nil {
		t.armed = map[string]trigger{}
	}
	t.armed[point] = trigger{fault, action}
	return nil
}

func (t *triggers) disarm(fault string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for point, armed := range t.armed {
		if armed.fault == fault {
			delete(t.armed, point)
		}
	}
}

// take returns the action that is armed at a point, once.
func (t *triggers) take(point string) (armed trigger, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	armed, ok = t.armed[point]
	delete(t.armed, point)
	return armed, ok
}

// armedAt returns the fault that is armed at a point; "" if none is.
func (t *triggers) armedAt(point string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.armed[point].fault
}

// at does what a trigger is armed for at the point, if one is: it stops the process, or does harm to
// the client's session. The event is in the history before that. The claim and the slot are those of the hold in whose
// critical section the point is.
func (p *process) at(point string, claim history.Claim, slot history.Slot) error {
	armed, ok := p.triggers.take(point)
	if !ok {
		return nil
	}
	e := claim.Trigger(armed.fault, point, slot)
	if armed.action != control.StrikeStop {
		return p.strike(armed.action, e)
	}
	if err := p.rec.Record(e); err != nil {
		return err
	}
	if err := stopCompanions(); err != nil {
		return err
	}
	// A signal to the process may be taken by another thread, and this one would
	// run on for a moment; one to this thread stops it on the way out of the call.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP)
}

// linkOf returns the link of a client's session; nil if the process has no such client, or none that
// is connected yet, or if a foreign lock makes the connections.
func (p *process) linkOf(client string) *link {
	links := p.links.Load()
	_, number, ok := strings.Cut(client, "/")
	i, err := strconv.Atoi(number)
	if links == nil || !ok || err != nil || i < 0 || i/p.cfg.perSession() >= len(*links) {
		return nil
	}
	return (*links)[i/p.cfg.perSession()]
}

// strike does harm to a client's session. What it does is in the history before it is done: e is that event, but for
// the session and its server. A client may be without a session at any time, and that is recorded too: the fault
// misses then, and the process goes on.
func (p *process) strike(action string, e history.Event) error {
	l := p.linkOf(e.Client)
	var session history.SessionID
	var server string
	if l != nil {
		session, server = l.now()
	}
	if session == 0 {
		return p.rec.Record(history.Strike{Fault: e.Fault, Client: e.Client, Action: action}.Missed())
	}
	if err := p.rec.Record(e.Struck(session, p.cfg.serverName(server))); err != nil {
		return err
	}
	switch action {
	case control.StrikeExpire:
		var servers []string
		for _, s := range p.cfg.Servers {
			servers = append(servers, s.Address)
		}
		if err := l.expire(context.Background(), servers); err != nil {
			p.log.Error("session is not ended", "fault", e.Fault, "err", err) // the servers' word counts
		}
	case control.StrikeMove:
		l.leave(e.Fault)
	}
	return nil
}

// strikeNow is a strike on command.
func (p *process) strikeNow(action, fault, client string) error {
	if action != control.StrikeExpire && action != control.StrikeMove {
		return fmt.Errorf("unknown strike %q", action)
	}
	return p.strike(action, history.Strike{Fault: fault, Client: client, Action: action}.Event())
}

// settle takes a move back, whichever client made it, and records it once that is done.
func (p *process) settle(fault string) error {
	links := p.links.Load()
	if links == nil {
		return nil
	}
	for _, l := range *links {
		server := l.settle(fault)
		if server == "" {
			continue
		}
		session, _ := l.now()
		settled := history.Strike{Fault: fault, Session: session, Action: history.StrikeSettled,
			Server: p.cfg.serverName(server)}
		if err := p.rec.Record(settled.Event()); err != nil {
			return err
		}
	}
	return nil
}
