package check

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// byServers judges liveness by the servers' transactions, where they are whole:
//
//   - orphans: a session has more znodes in a lock's queue than acquisitions of its clients are under way or
//     hold, for longer than the bound and with no fault in force; of a semaphore's leases it is a leaked lease. Of a
//     session that no client had, where it is known which they had, any is one.
//   - unnoticed grants: a client's znode was eligible for longer than the bound, no fault in force, while its acquire did
//     not return. (One who wants several at once may have to wait for the others.)
//
// What a server said that its own log, or the order of it, rules out is listed with cause server.
func (l *live) byServers(locks map[string][]*history.Acquisition) []Finding {
	v := l.servers
	if v == nil || len(v.doubts()) > 0 || !l.whole { // else whose znodes they are may only not be recorded
		return nil
	}
	var found []Finding
	for _, lock := range sortedKeys(locks) {
		lane := v.lanes[lock]
		if v.Layout == LayoutSemaphore {
			found = append(found, l.orphans(lock, "leaked-lease", lane.Contenders, locks[lock], func(a *history.Acquisition) int { return int(max(a.Permits, 1)) })...)
			queue := v.History.Lane(nodes.Children(lock+"/locks", "lock-"), nodes.First)
			found = append(found, l.orphans(lock, "orphan", queue.Contenders, locks[lock], func(*history.Acquisition) int { return 1 })...)
		} else {
			found = append(found, l.orphans(lock, "orphan", lane.Contenders, locks[lock], func(*history.Acquisition) int { return 1 })...)
		}
		found = append(found, l.unnoticed(lock, lane, locks[lock])...)
	}
	for i := range v.Contradictions {
		if c := &v.Contradictions[i]; c.Path != "" && l.about(c.Path, locks) {
			found = append(found, Finding{Kind: "orphan", At: l.stop, Until: l.stop, Cause: CauseServer, Explained: true, Text: c.Text, Zxids: zxidWords([]int64{c.Zxid})})
		}
	}
	return found
}

// unwatched says why it is not known whether faults left znodes behind, though it is to be: after the last heal there was
// no time for one to be there for longer than the bound, or the servers' word is not whole.
func (l *live) unwatched(heal int64) []string {
	log := l.facts.Servers
	switch {
	case !l.facts.Recovers || heal == history.None || log == nil || log.Missing == "" && log.Layout == "":
		return nil
	case l.servers == nil || len(l.servers.doubts()) > 0:
		return []string{"whether faults left znodes behind cannot be told without the servers' whole transaction logs"}
	}
	from := heal
	if l.final != nil && l.final.Kind == history.OK && l.final.Detail == "" {
		from = l.lastFault() // the final heal found nothing to heal
	}
	if quiet := l.quiet(from, l.stop); quiet <= l.bound {
		return []string{fmt.Sprintf("whether faults left znodes behind cannot be told in the %s without a fault after the last heal (%s)", seconds(max(quiet, 0)), seconds(l.bound))}
	}
	return nil
}

// about reports whether a path is a lock's, or below one.
func (l *live) about(path string, locks map[string][]*history.Acquisition) bool {
	for lock := range locks {
		if path == lock || len(path) > len(lock) && path[:len(lock)] == lock && path[len(lock)] == '/' {
			return true
		}
	}
	return false
}

// A load is a change of how many znodes a session has, and of how many it may have.
type load struct {
	at      int64
	znodes  int
	allowed int
	blocked int
}

// orphans finds sessions with more of the contenders than as their clients' acquisitions account for.
func (l *live) orphans(lock, kind string, contenders []nodes.Contender, all []*history.Acquisition, as func(*history.Acquisition) int) []Finding {
	bySession := map[int64][]*nodes.Contender{}
	// Where a client's sessions are not recorded, any may be its own.
	known := !slices.ContainsFunc(all, func(a *history.Acquisition) bool { return len(l.connections[a.Client]) == 0 })
	for i := range contenders {
		c := &contenders[i]
		nobodys := c.Owner != 0 && c.Czxid != 0 // one from before the logs is none of this run's
		if l.clientOf[history.SessionID(c.Owner)] != "" || nobodys {
			bySession[c.Owner] = append(bySession[c.Owner], c)
		}
	}
	byClient := map[string][]*history.Acquisition{}
	for _, a := range all {
		byClient[a.Client] = append(byClient[a.Client], a)
	}
	var found []Finding
	for _, session := range slices.Sorted(maps.Keys(bySession)) {
		mine := bySession[session]
		var changes []load
		span := func(from, until int64, t load) {
			if until <= from {
				return
			}
			t.at = from
			changes = append(changes, t)
			changes = append(changes, load{until, -t.znodes, -t.allowed, -t.blocked})
		}
		for _, c := range mine {
			from, until := l.lived(c)
			span(from, until, load{znodes: 1})
		}
		for _, client := range sortedKeys(l.clientsOf[history.SessionID(session)]) {
			left := l.leftSession(client, history.SessionID(session))
			for _, a := range byClient[client] {
				until := l.over(a)
				if a.Session != history.SessionID(session) {
					until = min(until, left) // from then on it has its znodes by another session
				}
				span(a.Invoked, until, load{allowed: as(a)})
			}
		}
		for _, f := range l.faults {
			from, until := l.inForce(f)
			span(from, until, load{blocked: 1})
		}
		slices.SortStableFunc(changes, func(a, b load) int { return cmp.Compare(a.at, b.at) })
		var now load
		began := int64(-1)
		for _, c := range changes {
			excess := now.znodes > now.allowed && now.blocked == 0
			if excess && c.at-began > l.bound {
				f := l.orphan(lock, kind, session, mine, began, c.at)
				if f.Clients != nil || known {
					found = append(found, f)
				} else {
					l.perhapsOrphans = append(l.perhapsOrphans, f.Text+", as far as clients' sessions are known")
				}
			}
			now.znodes, now.allowed, now.blocked = now.znodes+c.znodes, now.allowed+c.allowed, now.blocked+c.blocked
			if is := now.znodes > now.allowed && now.blocked == 0; !is || !excess || c.at-began > l.bound {
				began = c.at
			}
		}
	}
	return found
}

// leftSession is when a client had another session than this for good; the end of time if it never had.
func (l *live) leftSession(client string, session history.SessionID) int64 {
	left := int64(math.MaxInt64)
	for _, c := range slices.Backward(l.connections[client]) {
		if c.session == session {
			return left
		}
		left = c.at
	}
	return math.MaxInt64 // when it had this one is not recorded
}

// lived is the time of a znode's life, on the run's clock and within the run.
func (l *live) lived(c *nodes.Contender) (from, until int64) {
	until = l.stop
	if c.End != nil {
		until = min(until, l.servers.clock.at(c.End.Time))
	}
	return l.servers.clock.at(c.Created), until
}

// over is when an acquisition was over in every way, whether or not its client was told so.
func (l *live) over(a *history.Acquisition) int64 {
	over := l.stop
	for _, t := range [...]int64{a.ReleaseReturned, a.Died} {
		if t != history.None {
			over = min(over, t)
		}
	}
	if a.Returned != history.None && !a.Granted() {
		over = min(over, a.Returned)
	}
	return over
}

// orphan describes one by the oldest znode that no grant is known to have.
func (l *live) orphan(lock, kind string, session int64, mine []*nodes.Contender, began, until int64) Finding {
	f := Finding{Kind: kind, Lock: lock, At: began, Until: until, Cause: CauseNone}
	if client := l.clientOf[history.SessionID(session)]; client != "" {
		f.Clients = []string{client}
	}
	for _, spare := range [...]bool{true, false} {
		for _, c := range mine {
			from, end := l.lived(c)
			if from > began || end < until || spare && l.servers.used[c.Life] != nil {
				continue
			}
			f.Text = fmt.Sprintf("%s, belonged to no acquisition for %s from %s", l.describe(c), seconds(until-began), seconds(began))
			if twins := len(l.servers.History.ByGUID(c.GUID())); twins > 1 && kind == "orphan" {
				f.Text += fmt.Sprintf("; %d znodes have its GUID", twins)
			}
			f.Zxids = zxidWords([]int64{c.Czxid})
			if c.End != nil {
				f.Zxids = zxidWords([]int64{c.Czxid, c.End.Zxid})
			}
			if a := l.servers.used[c.Life]; a != nil {
				f.Events = l.eventsOf(a)
			}
			if x := l.servers.contradiction(history.SessionID(session), c.Path); x != nil {
				f.Cause, f.Explained = CauseServer, true
				f.Text += "; " + x.Text
			}
			return f
		}
	}
	f.Text = fmt.Sprintf("session %s had more znodes of %s than acquisitions for %s from %s", history.SessionID(session), lock, seconds(until-began), seconds(began))
	return f
}

// unnoticed finds grants of the servers that the client was not told of in time.
func (l *live) unnoticed(lock string, lane *nodes.Lane, all []*history.Acquisition) []Finding {
	var found []Finding
	for i := range lane.Spans {
		s := &lane.Spans[i]
		from, until := l.servers.clock.at(s.FromTime), l.stop
		if s.To != 0 {
			until = min(until, l.servers.clock.at(s.ToTime))
		}
		if until-from <= l.bound {
			continue
		}
		a := l.servers.used[s.Life]
		if a == nil {
			a = l.waiting(s, all)
		}
		if a == nil || l.several[a] || a.Permits > 1 {
			continue
		}
		from, until = max(from, a.Invoked), min(until, l.stop)
		for _, t := range [...]int64{a.Returned, a.Died} {
			if t != history.None {
				until = min(until, t)
			}
		}
		if quiet := l.quiet(from, until); quiet > l.bound {
			f := Finding{Kind: "unnoticed", Lock: lock, At: from, Until: until, Cause: CauseNone, Clients: []string{a.Client}, Tokens: []int64{s.Czxid},
				Zxids: zxidWords([]int64{s.Czxid, s.From, s.To}), Events: l.eventsOf(a),
				Text: fmt.Sprintf("%s's znode %s was eligible since zxid %s (%s), and for %s its acquire did not return", a.Client, s.Name(), Zxid(s.From), seconds(from), seconds(quiet))}
			l.blameServer(&f) // who has another znode before its own on the server that it asks waits rightly
			found = append(found, f)
		}
	}
	return found
}

// waiting returns the acquisition that was waiting as the znode was created, nil if none was, or more than one.
func (l *live) waiting(s *nodes.Span, all []*history.Acquisition) *history.Acquisition {
	created := l.servers.clock.at(s.Created)
	var one *history.Acquisition
	for _, a := range all {
		if !l.clientsOf[history.SessionID(s.Owner)][a.Client] || a.Granted() || a.Invoked > created+l.servers.clock.err ||
			a.Returned != history.None && a.Returned < created || a.Died != history.None && a.Died < created {
			continue
		}
		if one != nil {
			return nil
		}
		one = a
	}
	return one
}

// lastFault is when the last fault was over.
func (l *live) lastFault() int64 {
	var last int64
	for _, f := range l.faults {
		if from, until := l.inForce(f); from < l.stop {
			last = max(last, until)
		}
	}
	return last
}

// quiet is the longest time between from and until in which no fault was in force.
func (l *live) quiet(from, until int64) int64 {
	var edges []load
	for _, f := range l.faults {
		if a, b := l.inForce(f); a < until && b > from {
			edges = append(edges, load{at: a, blocked: 1}, load{at: b, blocked: -1})
		}
	}
	slices.SortStableFunc(edges, func(a, b load) int { return cmp.Compare(a.at, b.at) })
	var longest int64
	blocked := 0
	for _, e := range edges {
		if blocked == 0 {
			longest = max(longest, min(e.at, until)-from)
		}
		if blocked += e.blocked; blocked == 0 {
			from = max(from, e.at)
		}
	}
	if blocked == 0 {
		longest = max(longest, until-from)
	}
	return longest
}

// witnessStall adds to a stall who was eligible at the servers for half of it, and whether they contradict themselves
// about the lock.
func (l *live) witnessStall(f *Finding) {
	v := l.servers
	if v == nil {
		return
	}
	for i := range v.lanes[f.Lock].Spans {
		s := &v.lanes[f.Lock].Spans[i]
		from, until := v.clock.at(s.FromTime), f.Until
		if s.To != 0 {
			until = v.clock.at(s.ToTime)
		}
		if 2*(min(f.Until, until)-max(f.At, from)) >= f.Until-f.At {
			f.Text += fmt.Sprintf("; at the servers %s of %s was eligible since zxid %s", s.Name(), l.whose(s.Owner), Zxid(s.From))
			f.Zxids = append(f.Zxids, zxidWords([]int64{s.From, s.To})...)
		}
	}
	l.blameServer(f)
}

// blameServer adds to a finding about a lock that a server contradicts the others about it, and reports whether one does.
func (l *live) blameServer(f *Finding) bool {
	if l.servers == nil {
		return false
	}
	for i := range l.servers.Contradictions {
		if c := &l.servers.Contradictions[i]; c.Path != "" && l.about(c.Path, map[string][]*history.Acquisition{f.Lock: nil}) {
			f.Cause, f.Explained = CauseServer, true
			f.Text += "; " + c.Text
			f.Zxids = append(f.Zxids, zxidWords([]int64{c.Zxid})...)
			return true
		}
	}
	return false
}
