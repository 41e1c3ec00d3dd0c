package progress

import (
	"fmt"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// blocks are the times in which nothing is demanded of a lock with these acquisitions: servers that were up did not
// serve, which [evidence.ServiceLiveness] judges; a process stood still for at least a tick; or a fault was in force
// that the lock can have felt.
//
//   - A fault of the leader, or of so many servers that no majority is left, keeps everybody from every lock.
//   - A fault of clients is felt by locks that they wanted or had meanwhile. One that silences them costs others no
//     more than the time until their sessions have expired, counted from when they were stopped: a client that is
//     killed while it is paused was silent before. Their own waits do not count while it is in force, see
//     [LivenessJudge.silenced].
//   - Any other fault of servers may be one of the leader.
//
// Strictly, only those faults and standstills count that must have been felt: no fault counts that lets heartbeats
// through, or that is of servers and clients that nobody used who wanted the lock, nor one of a minority of servers any
// more once others have led for long enough. A stall between the two is a doubt.
func (l *LivenessJudge) blocks(all []*history.Acquisition, strictly bool) []spans.Span {
	blocks := l.ServersStood()
	if strictly {
		blocks = l.UnservedFor(func(server string) bool {
			return slices.ContainsFunc(all, func(a *history.Acquisition) bool {
				at := l.ServerAt(a.Session, l.over(a))
				return at == "" || at == server || l.ServerAt(a.Session, a.Invoked) == server
			})
		}, true)
	}
	timeout := l.LongestTimeout()
	for _, f := range l.Faults {
		from, until := l.InForce(f)
		passes := f.Passes(timeout)
		everybody := l.allFeel(f)
		clients := l.OnlyClients(f) && !f.Nature.DeletesAll
		switch {
		case strictly && !l.mustFeel(all, f), clients && !everybody && !l.feltBy(all, f):
			continue
		case !everybody && !passes && (strictly || clients):
			until = min(until, evidence.Later(l.stoppedSince(f, from), 2*l.Bound))
		}
		if strictly && !l.quorumFeels(f) {
			until = min(until, evidence.Later(l.ServedThrough(f), l.Bound))
		}
		if from < until {
			blocks = append(blocks, spans.Span{From: from, Until: until})
		}
	}
	for _, process := range evidence.SortedKeys(l.Hiccups) {
		of := func(a *history.Acquisition) bool { return a.Process == process }
		if !strictly || slices.ContainsFunc(all, of) {
			blocks = append(blocks, l.StillnessOf(process)...)
		}
	}
	return blocks
}

// mustFeel reports whether f can have kept clients that wanted a lock, with these acquisitions, from it: it does not
// let heartbeats through, nor spare sessions, and strikes them, their server, the leader or a majority.
func (l *LivenessJudge) mustFeel(all []*history.Acquisition, f *evidence.Fault) bool {
	return !f.Passes(l.LongestTimeout()) && !f.Nature.SparesSessions && (l.allFeel(f) || l.feltBy(all, f))
}

// feltBy reports whether a fault struck one of these acquisitions, or the server that its session used, if it is known.
func (l *LivenessJudge) feltBy(all []*history.Acquisition, f *evidence.Fault) bool {
	from, until := l.InForce(f)
	servers := !l.OnlyClients(f) || f.Nature.DeletesAll
	return slices.ContainsFunc(all, func(a *history.Acquisition) bool {
		used := feels(l.Digest, a, f) || servers && l.ServerAt(a.Session, max(from, a.Invoked)) == ""
		return used && a.Invoked <= until && l.over(a) >= from
	})
}

// stoppedSince is since when verified faults have stopped all processes that f, a fault of clients, struck at a time.
// It is that time if they were running until then.
func (l *LivenessJudge) stoppedSince(f *evidence.Fault, at int64) int64 {
	if len(f.Targets) == 0 || !l.OnlyClients(f) {
		return at
	}
	since := at
	for _, g := range l.Faults {
		others := func(host string) bool { return !g.Hits(host) }
		if g.Certain() && g.Stops() && l.OnlyClients(g) && g.Verified < at && at <= g.Until() &&
			!slices.ContainsFunc(f.Targets, others) {
			since = min(since, g.Verified)
		}
	}
	return since
}

// feels reports whether a fault struck an acquisition's client, or the server that its session used.
func feels(d *evidence.Digest, a *history.Acquisition, f *evidence.Fault) bool {
	return f.Hits(a.Process) || f.Hits(a.Client) || f.Hits(d.ServerAt(a.Session, max(f.Began(), a.Invoked)))
}

// allFeel reports whether a fault struck the leader, or so many servers that no majority is left.
func (l *LivenessJudge) allFeel(f *evidence.Fault) bool {
	return f.StrikesLeader() || l.quorumFeels(f)
}

// quorumFeels reports whether a fault struck, together with others that were in force then, so many servers that no
// majority is left.
func (l *LivenessJudge) quorumFeels(f *evidence.Fault) bool {
	if l.Facts.Servers == nil {
		return false
	}
	servers := l.StruckWith(f, l.InForce)
	return servers > 0 && 2*servers >= len(l.Facts.Servers.Ensemble)
}

// silenced are the times in which a fault kept a's client from hearing of a grant.
func (l *LivenessJudge) silenced(a *history.Acquisition) spans.List {
	var all []spans.Span
	for _, f := range l.Faults {
		if from, until := l.InForce(f); feels(l.Digest, a, f) && !f.Passes(l.LongestTimeout()) &&
			!f.Nature.SparesSessions {
			all = append(all, spans.Span{From: from, Until: until})
		}
	}
	return spans.Merged(all)
}

// deaf are the times in which a's client could not hear of a grant: [LivenessJudge.silenced], and those in which it
// told that it had no connection.
func (l *LivenessJudge) deaf(a *history.Acquisition) spans.List {
	return spans.Merged(append(l.silenced(a), l.Unconnected[a.Client]...))
}

// judged says how much of the run the check judged of the lock that it could judge least, which is a doubt if it is
// less than a stall takes, in a run of more than twice as much. It says nothing if it judged all.
func (l *LivenessJudge) judged(byLock map[string][]*history.Acquisition) (said string, doubts []string) {
	since := max(l.Measure, 0)
	whole := l.Stop - since
	least := whole
	for _, all := range byLock {
		least = min(least, whole-spans.Merged(l.blocks(all, false)).Within(since, l.Stop))
	}
	switch {
	case least == whole:
		return "", nil
	case least <= l.Bound && whole > 2*l.Bound:
		return "", []string{fmt.Sprintf("only %s of %s can be judged, because of faults and standstills, and a stall "+
			"takes %s", evidence.Length(max(least, 0)), evidence.Length(whole), evidence.Length(l.Bound))}
	}
	return fmt.Sprintf("; this judged %s of %s, without the times of faults and standstills",
		evidence.Length(max(least, 0)),
		evidence.Length(whole)), nil
}
