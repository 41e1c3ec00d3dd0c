package evidence

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/service"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// A standstill is a time in which servers may have stood still although no fault had struck them, so that they heard
// of no session and told nobody anything. It may have other causes, so whatever it explains is a doubt.
type standstill struct {
	spans.Span
	servers []string // nil if it concerns all
	expires int64    // until when sessions may have expired because of it
	doubt   string
}

// concerns reports whether it is one of a server; "" is any server.
func (s *standstill) concerns(server string) bool {
	return s.servers == nil || server == "" || slices.Contains(s.servers, server)
}

// ServersStood are the times in which servers may have stood still, or did not serve.
func (d *Digest) ServersStood() (all []spans.Span) {
	for _, s := range d.standstillsOfServers() {
		all = append(all, s.Span)
	}
	return all
}

func (d *Digest) standstillsOfServers() []standstill {
	return d.serversStood.Of(func() (all []standstill) {
		add := func(s spans.Span, servers []string, format string, args ...any) {
			// The next leader gives each session its whole timeout again.
			expires := Later(s.Until, int64(d.expiry(d.LongestTimeout()).Latest())+d.BackAt())
			all = append(all, standstill{s, servers, expires, "but " + fmt.Sprintf(format, args...)})
		}
		for _, u := range d.Unserveds() {
			var servers []string
			if u.Some() {
				servers = u.Servers
			}
			add(d.unservedTime(&u), servers, "servers did not serve at the look at %s", Seconds(u.Last().At))
		}
		for _, s := range service.Unanswered(d.Events, Standstill(d.Facts.Tick)) {
			add(s, nil, "the servers kept a write of the harness waiting at %s", Seconds(s.Until))
		}
		d.findExits(func(s spans.Span, server string) {
			add(s, []string{server}, "%s had exited by itself at %s", server, Seconds(s.From))
		})
		if !d.Transactions.Whole() {
			return all
		}
		clock := d.Transactions.Clock
		for _, e := range d.Transactions.epochs {
			s := spans.Span{From: clock.At(e.Before.Time) - clock.Err, Until: clock.At(e.First.Time) + clock.Err}
			if e.Before.Zxid != 0 && !d.struckWithin(s, "") {
				add(s, nil, "another leader came by %s, and no fault had struck a server", Seconds(s.Until))
			}
		}
		return append(all, d.expiredTogether()...)
	})
}

// findExits yields the times in which servers were down that had exited though no fault had ended them.
func (d *Digest) findExits(yield func(s spans.Span, server string)) {
	if d.Facts.Servers == nil {
		return
	}
	exited := map[string]int64{}
	for _, e := range d.Events.Of(history.OpProcess) {
		at, down := exited[e.Process]
		switch {
		case !slices.Contains(d.Facts.Servers.Ensemble, e.Process), d.Collect != history.None && e.At+d.Slack() >= d.Collect:
		case e.ProcessIs(history.ProcessExited) && !d.Killed(&e):
			exited[e.Process] = e.At
		case e.ProcessIs(history.ProcessStarted) && down:
			yield(spans.Span{From: at, Until: e.At}, e.Process)
			delete(exited, e.Process)
		}
	}
	for _, server := range SortedKeys(exited) {
		yield(spans.Span{From: exited[server], Until: d.End}, server)
	}
}

// expiredTogether are the times before sessions of two client processes expired within a tick, though nothing had
// struck either process or a server. Servers that stood still end the sessions of many.
func (d *Digest) expiredTogether() (all []standstill) {
	clock := d.Transactions.Clock
	ended := map[string]int64{} // by process
	for _, e := range d.Events.Of(history.OpDone, history.OpProcess) {
		if e.Op == history.OpDone || e.ProcessIs(history.ProcessExited) {
			ended[e.Process] = cmp.Or(ended[e.Process], e.At)
		}
	}
	silent := func(s *nodes.Session) spans.Span {
		at := clock.At(s.ClosedTime) + clock.Err
		return spans.Span{From: at - int64(d.expiry(d.Timeout(history.SessionID(s.ID))).Latest()) - d.Slack(), Until: at}
	}
	var last *nodes.Session
	process := func(s *nodes.Session) string { return history.HostOf(d.ClientOf[history.SessionID(s.ID)]) }
	for _, s := range d.expired() {
		of, time := process(s), silent(s)
		if at, over := ended[of]; of == "" || over && at <= time.Until || d.struckWithin(time, of) {
			continue
		}
		if last != nil && process(last) != of && time.Until-silent(last).Until <= int64(d.Facts.Tick) {
			all = append(all, standstill{spans.Span{From: silent(last).From, Until: time.Until}, nil, time.Until,
				fmt.Sprintf("but sessions of %s and %s expired within a tick by %s, and nothing had struck them",
					process(last), of, Seconds(time.Until))})
		}
		last = s
	}
	return all
}

// expired are the sessions that the servers let expire, by their logs, in the order in which they did.
func (d *Digest) expired() (all []*nodes.Session) {
	for _, s := range d.Transactions.History.Sessions {
		if s.Expired {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b *nodes.Session) int { return cmp.Compare(a.Closed, b.Closed) })
	return all
}

// struckWithin reports whether a fault that can silence sessions may have been in force on a server, or on a process,
// or the process recorded a standstill.
func (d *Digest) struckWithin(s spans.Span, process string) bool {
	return slices.ContainsFunc(d.Faults, func(f *Fault) bool {
		_, until := f.Effect()
		return f.Possible() && f.silences() && f.Nature.Cause != CauseAdministrator && f.Began() <= s.Until &&
			until >= s.From && (!d.OnlyClients(f) || f.Hits(process))
	}) || slices.ContainsFunc(d.StillnessOf(process), func(still spans.Span) bool {
		return still.From <= s.Until && still.Until >= s.From
	})
}

// Killed reports whether a fault that ends processes had struck one when it exited.
func (d *Digest) Killed(exit *history.Event) bool {
	return slices.ContainsFunc(d.Faults, func(f *Fault) bool {
		return f.Possible() && f.Cause() == CauseKill && f.Hits(exit.Process) && f.Began()-d.Slack() <= exit.At &&
			exit.At <= Later(f.Until(), d.Slack())
	})
}

// serversSilent returns the silences of a's session for which servers that stood still may account, or a fault through
// which it was granted a lock. That may have struck one server after the other, as a restart does.
func (d *Digest) serversSilent(a *history.Acquisition) (all []silence) {
	for _, f := range d.Faults {
		if len(f.Targets) > 1 && !d.OnlyClients(f) && f.silences() && d.grantedThrough(a.Session, f) {
			_, until := f.Effect()
			all = append(all, silence{from: f.Began(), until: until, fault: f, beyond: true,
				doubt: "through which it was granted a lock, but which need not have struck all servers at once"})
		}
	}
	for _, s := range d.standstillsOfServers() {
		if s.concerns(d.ServerAt(a.Session, s.From)) {
			all = append(all, silence{from: s.From, until: s.expires, doubt: s.doubt, beyond: true})
		}
	}
	return all
}
