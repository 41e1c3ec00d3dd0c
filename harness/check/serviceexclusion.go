package check

import (
	"fmt"
	"slices"
	"strings"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// ServiceExclusion names the check that this file defines.
const ServiceExclusion = "service-exclusion"

var serviceExclusionCheck = Check{
	Name: ServiceExclusion,
	Asks: "did the servers ever have two holders? Each grant must have a znode of its own session that " +
		"was eligible during the acquire call, by the servers' transaction logs. Unknown where the " +
		"logs are incomplete or come from no majority; n/a where the lock's znodes are not known",
	Subject: "what the servers granted",
	judge:   judgeServiceExclusion,
}

// judgeServiceExclusion asks the servers' transaction logs whether the service ever had two holders. Each grant that a
// client was told of must have had a znode of its own session that was there and eligible at some instant of the
// acquire call, by the rule of the lock's layout and in the order of transactions. By that rule, no two contenders
// that exclude each other are ever eligible together, nor more leases than permits. So a grant beside another's is one
// without such a znode, or one of two that have the same znode.
//
// A transaction is placed on the run's clock by the time when the leader prepared it, which is before it took effect,
// and by the relation of the clocks, with its error in the grant's favour.
//
// The check does not apply where there were no logs, and is unknown where they are not complete, because the
// contenders are only known if all transactions are.
func judgeServiceExclusion(d *digest, s *Safety) Verdict {
	log := d.facts.Servers
	switch {
	case log == nil:
		return Verdict{Result: NotApplicable, Summary: "needs the servers' transaction logs, which were not read"}
	case log.Missing != "":
		return Verdict{Result: Unknown, Summary: "needs the servers' transaction logs: " + log.Missing}
	case log.Layout == "":
		return Verdict{Result: NotApplicable, Summary: "it is not known by which znodes the lock's clients contend"}
	case d.servers == nil:
		return Verdict{Result: Unknown, Summary: "the servers' clock cannot be placed: the history has no reading of it"}
	}
	var v Verdict
	var grants, byServer int64
	for _, l := range d.locks {
		for _, a := range l.grants {
			grants++
			w := d.servers.found[a]
			if w.answer == nodes.Witnessed && w.shared == nil {
				continue
			}
			if d.servers.contradiction(a.Session, w.path()) != nil {
				byServer++
			}
			if v.Count++; len(v.Findings) < maxFindings {
				v.Findings = append(v.Findings, d.doubleGrant(a, w))
			}
		}
	}
	s.DoubleGrants = &v.Count
	doubts := d.servers.doubts()
	first, last := Zxid(log.History.First), Zxid(log.History.Last)
	switch {
	case len(doubts) > 0 && v.Count > 0:
		v.setf(Unknown, "%s without an eligible znode of its own, but %s", count(v.Count, "grant", "grants"),
			strings.Join(doubts, "; "))
	case byServer > 0 && byServer == v.Count:
		v.setf(Unknown, "%s without an eligible znode, where the servers contradict themselves: %s",
			count(v.Count, "grant", "grants"), v.Findings[0].Text)
	case v.Count > 0:
		v.setf(Fail, "%s of %d without an eligible znode of its own: %s", count(v.Count, "grant", "grants"), grants,
			v.Findings[0].Text)
		v.Violation = d.facts.Exclusive
	case grants == 0:
		v.setf(Unknown, "no client got a lock")
	case len(doubts) > 0:
		v.setf(Unknown, "each of %s had an eligible znode of its own, but %s", count(grants, "grant", "grants"),
			strings.Join(doubts, "; "))
	case !d.whole:
		v.setf(Unknown, "each of %s had an eligible znode of its own, but the history is not complete",
			count(grants, "grant", "grants"))
	default:
		v.setf(Pass, "each of %s had an eligible znode of its own, by the logs of %s from zxid %s to %s",
			count(grants, "grant", "grants"), strings.Join(log.Servers, ", "), first, last)
	}
	return v
}

// doubleGrant says what is wrong with a grant.
func (d *digest) doubleGrant(a *history.Acquisition, w *proof) Finding {
	f := Finding{
		Kind:    "double-grant",
		Lock:    a.Lock,
		At:      a.Invoked,
		Until:   a.Returned,
		Cause:   CauseNone,
		Clients: []string{a.Client},
		Tokens:  []int64{a.Token},
		Events:  d.eventsOf(a),
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s was granted %s at %s", holder(a), a.Lock, seconds(a.Returned))
	add := func(zxids ...int64) {
		for _, z := range zxids {
			if z != 0 && !slices.Contains(f.Zxids, Zxid(z)) {
				f.Zxids = append(f.Zxids, Zxid(z))
			}
		}
	}
	if c := w.best; c != nil {
		add(c.Czxid)
		if c.End != nil {
			add(c.End.Zxid)
		}
	}
	switch {
	case w.shared != nil:
		add(w.spans[0].Czxid)
		f.Clients, f.Tokens = append(f.Clients, w.shared.Client), append(f.Tokens, w.shared.Token)
		f.Events = append(f.Events, d.eventsOf(w.shared)...)
		fmt.Fprintf(&text, " with the znode of %s's grant", w.shared.Client)
	case w.had > 0:
		fmt.Fprintf(&text, ", but it had leases for only %d of %s", w.had, count(a.Permits, "permit", "permits"))
	case w.answer == nodes.NoZnode:
		text.WriteString(", but had no znode")
	case w.answer == nodes.OtherSession:
		fmt.Fprintf(&text, " in session %s, but its znode is another session's: %s", a.Session, d.describe(w.best))
	default:
		fmt.Fprintf(&text, ", but its znode was not eligible during the call: %s", d.describe(w.best))
	}
	if other := d.eligibleAt(a); other != nil {
		add(other.From, other.To)
		fmt.Fprintf(&text, "; %s of %s was eligible then, since zxid %s", other.Name(), d.whose(other.Owner),
			Zxid(other.From))
	}
	if c := d.servers.contradiction(a.Session, w.path()); c != nil {
		f.Cause, f.Explained = CauseServer, true
		add(c.Zxid)
		text.WriteString("; " + c.Text)
	}
	f.Text = text.String()
	return f
}

// eligibleAt is another session's znode that was eligible when the client was told of its grant, nil if there was
// none.
func (d *digest) eligibleAt(a *history.Acquisition) *nodes.Span {
	lane := d.servers.lanes[a.Lock]
	var last *nodes.Span
	for i := range lane.Spans {
		s := &lane.Spans[i]
		if s.Owner != int64(a.Session) && d.servers.clock.at(s.FromTime) <= a.Returned &&
			(s.To == 0 || d.servers.clock.at(s.ToTime) >= a.Returned) {
			last = s
		}
	}
	return last
}
