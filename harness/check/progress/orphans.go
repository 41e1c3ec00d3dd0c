package progress

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// serverFindings judges liveness by the servers' transactions, where they are complete:
//
//   - Orphans: a session has more znodes in a lock's queue than its clients have acquisitions under way or held, for
//     longer than the bound and without a disturbance. Among a semaphore's leases this is a leaked lease. If it is
//     known which sessions the clients had, any znode of another session is an orphan.
//   - Unnoticed grants: a client's znode was eligible for longer than the bound, without a disturbance, while its
//     acquire did not return. (A client that wants several locks at once may have to wait for the others.)
//
// What a server said that its own log, or the order of it, rules out is listed with the cause server.
func (l *LivenessJudge) serverFindings(locks map[string][]*history.Acquisition) []evidence.Finding {
	v := l.Servers
	if v == nil || len(v.DoubtedBecause()) > 0 ||
		!l.Whole { // else the owners of znodes may only be missing from the record
		return nil
	}
	var found []evidence.Finding
	one := func(*history.Acquisition) int { return 1 }
	for _, lock := range evidence.SortedKeys(locks) {
		lane := v.Lanes[lock]
		if v.Layout == nodes.LayoutSemaphore {
			permits := func(a *history.Acquisition) int { return int(max(a.Permits, 1)) }
			found = append(found, l.orphans(lock, evidence.KindLeakedLease, lane.Contenders, locks[lock], permits)...)
			queue := v.History.Lane(nodes.Children(lock+"/locks", "lock-"), nodes.First)
			found = append(found, l.orphans(lock, evidence.KindOrphan, queue.Contenders, locks[lock], one)...)
		} else {
			found = append(found, l.orphans(lock, evidence.KindOrphan, lane.Contenders, locks[lock], one)...)
		}
		found = append(found, l.unnoticed(lane, locks[lock])...)
	}
	for i := range v.Contradictions {
		if c := &v.Contradictions[i]; c.Path != "" && l.about(c.Path, locks) {
			found = append(found, evidence.Finding{Kind: evidence.KindOrphan, At: l.Stop, Until: l.Stop,
				Cause: evidence.CauseServer, Explained: true, Text: c.Text, Zxids: evidence.ZxidWords([]int64{c.Zxid})})
		}
	}
	return found
}

// recoveryDoubts says why it is not known whether faults left znodes behind, though the run was to show it: there was
// not enough time after the last heal for one to be there for longer than the bound, or the servers' transaction logs
// are not complete.
func (l *LivenessJudge) recoveryDoubts(heal int64) []string {
	log := l.Facts.Servers
	switch {
	case !l.Facts.Recovers || heal == history.None || log == nil || log.Missing == "" && log.Layout == "":
		return nil
	case l.Servers == nil || len(l.Servers.DoubtedBecause()) > 0:
		return []string{
			"it is not known whether faults left znodes behind, because the servers' transaction logs are not complete",
		}
	}
	from := heal
	if l.Final != nil && l.Final.Kind == history.OK && l.Final.Leftovers() == "" {
		from = l.lastFault() // the final heal found nothing to heal
	}
	if quiet := l.longestQuiet(l.clientDisturbances(), from, l.Stop); quiet <= l.Bound {
		return []string{fmt.Sprintf("it is not known whether faults left znodes behind, because "+
			"the run had only %s without a fault after the last heal, and it takes %s",
			evidence.Length(max(quiet, 0)), evidence.Length(l.Bound))}
	}
	return nil
}

// about reports whether a path is a lock's, or below one.
func (l *LivenessJudge) about(path string, locks map[string][]*history.Acquisition) bool {
	for lock := range locks {
		if path == lock || len(path) > len(lock) && path[:len(lock)] == lock && path[len(lock)] == '/' {
			return true
		}
	}
	return false
}

// besideWeak is the doubt about a finding beside faults that strictly cannot excuse it, see [LivenessJudge.blocks].
const besideWeak = ", beside faults or standstills that need not have been the cause"

// A znodeChange is a change of how many znodes a session has, and of how many it may have.
type znodeChange struct {
	at      int64
	znodes  int
	allowed int
	blocked int
}

// orphans finds sessions with more of the contenders than their clients' acquisitions account for, each of which
// accounts for as many as as says.
func (l *LivenessJudge) orphans(
	lock string, kind evidence.Kind,
	contenders []nodes.Contender,
	all []*history.Acquisition,
	as func(*history.Acquisition) int,
) []evidence.Finding {
	bySession := map[int64][]*nodes.Contender{}
	// Where a client's sessions are not recorded, any may be its own.
	known := !slices.ContainsFunc(all, func(a *history.Acquisition) bool { return len(l.Connections[a.Client]) == 0 })
	for i := range contenders {
		c := &contenders[i]
		stranger := c.Owner != 0 && c.Czxid != 0 // one from before the logs does not belong to this run
		if l.ClientOf[history.SessionID(c.Owner)] != "" || stranger {
			bySession[c.Owner] = append(bySession[c.Owner], c)
		}
	}
	byClient := map[string][]*history.Acquisition{}
	for _, a := range all {
		byClient[a.Client] = append(byClient[a.Client], a)
	}
	var found []evidence.Finding
	for _, session := range slices.Sorted(maps.Keys(bySession)) {
		mine := bySession[session]
		var changes []znodeChange
		var users []*history.Acquisition
		span := func(from, until int64, t znodeChange) {
			if until <= from {
				return
			}
			t.at = from
			changes = append(changes, t)
			changes = append(changes, znodeChange{until, -t.znodes, -t.allowed, -t.blocked})
		}
		for _, c := range mine {
			from, until := l.lifetime(c)
			span(from, until, znodeChange{znodes: 1})
		}
		for _, client := range evidence.SortedKeys(l.ClientsOf[history.SessionID(session)]) {
			left := l.leftSession(client, history.SessionID(session))
			if mine := byClient[client]; len(mine) > 0 { // what it feels, it feels between its acquisitions too
				users = append(users, &history.Acquisition{
					Claimant: &history.Claimant{Client: client, Process: mine[0].Process, Session: history.SessionID(session)},
					Trouble:  &history.Trouble{Died: history.None},
					Returned: history.None, ReleaseReturned: history.None,
				})
			}
			for _, a := range byClient[client] {
				until := l.over(a)
				if a.Session != history.SessionID(session) {
					until = min(until, left) // from then on another session owns its znodes
				}
				span(a.Invoked, until, znodeChange{allowed: as(a)})
			}
		}
		orphans := func(blocks []spans.Span, across bool) (all []evidence.Finding) {
			n := len(changes)
			for _, t := range blocks {
				span(t.From, t.Until, znodeChange{blocked: 1})
			}
			for _, s := range l.excess(changes, across) {
				all = append(all, l.orphan(lock, kind, session, mine, s.From, s.Until))
			}
			changes = changes[:n]
			return all
		}
		sure := orphans(l.clientDisturbances(), false)
		for _, f := range sure {
			if f.Clients != nil || known {
				found = append(found, f)
			} else {
				l.unsure = append(l.unsure, f.Text+", as far as clients' sessions are known")
			}
		}
		if len(sure) == 0 && len(users) > 0 {
			perhaps := orphans(l.blocks(users, true), false)
			if len(perhaps) == 0 {
				perhaps = orphans(l.clientDisturbances(), true)
			}
			for _, f := range perhaps {
				l.unsure = append(l.unsure, f.Text+besideWeak)
			}
		}
	}
	return found
}

// excess are the times of longer than the bound in which there were more znodes than allowed, and nothing blocked. A
// block begins the time anew, or across it the time stops, and is to be twice as long.
func (l *LivenessJudge) excess(changes []znodeChange, across bool) (all []spans.Span) {
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b znodeChange) int { return cmp.Compare(a.at, b.at) })
	bound := l.Bound
	if across {
		bound *= 2
	}
	var now znodeChange
	var began, quiet, last int64
	counting := false
	for _, c := range changes {
		if counting && now.blocked == 0 {
			quiet += c.at - last
		}
		long := counting && quiet > bound
		if long {
			all = append(all, spans.Span{From: began, Until: c.at})
		}
		now.znodes, now.allowed, now.blocked = now.znodes+c.znodes, now.allowed+c.allowed, now.blocked+c.blocked
		counts := now.znodes > now.allowed && (across || now.blocked == 0)
		if counts && !counting || long {
			began, quiet = c.at, 0
		}
		counting, last = counts, c.at
	}
	return all
}

// leftSession is when a client changed from this session to another one for good; the end of time if it never did.
func (l *LivenessJudge) leftSession(client string, session history.SessionID) int64 {
	left := int64(math.MaxInt64)
	for _, c := range slices.Backward(l.Connections[client]) {
		if c.Session == session {
			return left
		}
		left = c.At
	}
	return math.MaxInt64 // when it had this one is not recorded
}

// lifetime is when a znode existed, on the run's clock and within the run.
func (l *LivenessJudge) lifetime(c *nodes.Contender) (from, until int64) {
	until = l.Stop
	if c.End != nil {
		until = min(until, l.Servers.Clock.At(c.End.Time))
	}
	return l.Servers.Clock.At(c.Created), until
}

// over is when an acquisition was over in every way, whether or not its client was told so.
func (l *LivenessJudge) over(a *history.Acquisition) int64 {
	over := history.Earliest(l.Stop, a.ReleaseReturned, a.Died)
	if a.Returned != history.None && !a.Granted() {
		over = min(over, a.Returned)
	}
	return over
}

// orphan describes an orphan by the oldest znode that is not known to belong to a grant.
func (l *LivenessJudge) orphan(
	lock string, kind evidence.Kind,
	session int64,
	mine []*nodes.Contender,
	began, until int64,
) evidence.Finding {
	f := evidence.Finding{Kind: kind, Lock: lock, At: began, Until: until, Cause: evidence.CauseNone}
	if client := l.ClientOf[history.SessionID(session)]; client != "" {
		f.Clients = []string{client}
	}
	for _, spare := range [...]bool{true, false} {
		for _, c := range mine {
			from, end := l.lifetime(c)
			if from > began || end < until || spare && l.Servers.UsedBy(c.Life) != nil {
				continue
			}
			f.Text = fmt.Sprintf("%s, belonged to no acquisition for %s from %s", l.Describe(c), evidence.Length(until-began),
				evidence.Seconds(began))
			if twins := len(l.Servers.History.ByGUID(c.GUID())); twins > 1 && kind == evidence.KindOrphan {
				f.Text += fmt.Sprintf("; %d znodes have its GUID", twins)
			}
			f.Zxids = evidence.ZxidWords([]int64{c.Czxid})
			if c.End != nil {
				f.Zxids = evidence.ZxidWords([]int64{c.Czxid, c.End.Zxid})
			}
			if a := l.Servers.UsedBy(c.Life); a != nil {
				f.Events = l.EventsOf(a)
			}
			if x := l.Servers.Contradiction(history.SessionID(session), c.Path); x != nil {
				f.Cause, f.Explained = evidence.CauseServer, true
				f.Text += "; " + x.Text
			}
			return f
		}
	}
	f.Text = fmt.Sprintf("session %s had more znodes of %s than acquisitions for %s from %s",
		history.SessionID(session), lock, evidence.Length(until-began), evidence.Seconds(began))
	return f
}

// lastFault is when the last fault was over.
func (l *LivenessJudge) lastFault() int64 {
	var last int64
	for _, f := range l.Faults {
		if from, until := l.InForce(f); from < l.Stop {
			last = max(last, until)
		}
	}
	return last
}

// disturbances are the times in which nothing is demanded of the lock: a fault was in force, a process recorded that it
// stood still for at least a tick, or servers that were up did not serve, which [evidence.ServiceLiveness] judges.
func (l *LivenessJudge) disturbances() []spans.Span {
	all := l.clientDisturbances()
	for process := range l.Hiccups {
		if !l.ClientHosts[process] {
			all = append(all, l.StillnessOf(process)...)
		}
	}
	return all
}

// clientDisturbances leave out that the harness stood still. It has no znodes, and takes no part in what becomes of
// those of others. It often has less of the processors than the hosts of a lab, because they are containers.
func (l *LivenessJudge) clientDisturbances() []spans.Span {
	if l.disturbs == nil {
		l.disturbs = append([]spans.Span{}, l.ServersStood()...)
		for _, f := range l.Faults {
			from, until := l.InForce(f)
			l.disturbs = append(l.disturbs, spans.Span{From: from, Until: until})
		}
		for _, process := range evidence.SortedKeys(l.Hiccups) {
			if l.ClientHosts[process] {
				l.disturbs = append(l.disturbs, l.StillnessOf(process)...)
			}
		}
	}
	return slices.Clone(l.disturbs)
}

// longestQuiet is the longest time between from and until that none of the spells has.
func (l *LivenessJudge) longestQuiet(all []spans.Span, from, until int64) int64 {
	var longest int64
	for _, t := range spans.Merged(slices.Clone(all)) {
		longest = max(longest, min(t.From, until)-from)
		from = max(from, t.Until)
	}
	return max(longest, until-from)
}

// witnessStall adds to a stall which znodes were eligible at the servers for half of it, and whether the servers
// contradict themselves about the lock.
func (l *LivenessJudge) witnessStall(f *evidence.Finding) {
	v := l.Servers
	if v == nil {
		return
	}
	for i := range v.Lanes[f.Lock].Spans {
		s := &v.Lanes[f.Lock].Spans[i]
		from, until := v.Clock.Times(s)
		if 2*(min(f.Until, until)-max(f.At, from)) >= f.Until-f.At {
			f.Text += fmt.Sprintf("; by the servers' logs %s of %s was eligible since zxid %s", s.Name(), l.Whose(s.Owner),
				evidence.Zxid(s.From))
			f.Zxids = append(f.Zxids, evidence.ZxidWords([]int64{s.From, s.To})...)
		}
	}
	l.blameServer(f)
}

// blameServer adds to a finding about a lock that a server contradicts the others about it, and reports whether one
// does.
func (l *LivenessJudge) blameServer(f *evidence.Finding) bool {
	if l.Transactions == nil {
		return false
	}
	for i := range l.Transactions.Contradictions {
		if c := &l.Transactions.Contradictions[i]; c.Path != "" &&
			l.about(c.Path, map[string][]*history.Acquisition{f.Lock: nil}) {
			f.Cause, f.Explained = evidence.CauseServer, true
			f.Text += "; " + c.Text
			f.Zxids = append(f.Zxids, evidence.ZxidWords([]int64{c.Zxid})...)
			return true
		}
	}
	return false
}
