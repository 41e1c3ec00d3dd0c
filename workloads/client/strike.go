package client

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"locklab/harness/history"
	"locklab/workloads/control"
)

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
