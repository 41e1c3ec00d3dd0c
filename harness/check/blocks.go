package check

import (
	"fmt"
	"slices"

	"locklab/harness/history"
)

// blocks are the times in which nothing is demanded of a lock with these acquisitions: servers that were up did not
// serve, which [ServiceLiveness] judges; a process stood still for at least a tick; or a fault was in force that the
// lock can have felt.
//
//   - A fault of the leader, or of so many servers that no majority is left, keeps everybody from every lock.
//   - A fault of clients is felt by locks that they wanted or had meanwhile. One that silences them costs others no
//     more than the time until their sessions have expired; their own waits do not count while it is in force, see
//     [livenessJudge.silenced].
//   - Any other fault of servers may be one of the leader.
//
// Strictly, only those faults and standstills count that must have been felt: no fault counts that lets heartbeats
// through, or that is of servers and clients that nobody used who wanted the lock. A stall between the two is a doubt.
func (l *livenessJudge) blocks(all []*history.Acquisition, strictly bool) []spell {
	blocks := slices.Clone(l.unserved())
	timeout := l.longestTimeout()
	for _, f := range l.faults {
		from, until := l.inForce(f)
		clients := l.onlyClients(f) && !f.nature.DeletesAll
		felt := func(a *history.Acquisition) bool {
			used := l.feels(a, f) || !clients && l.serverAt(a.Session, max(from, a.Invoked)) == ""
			return used && a.Invoked <= until && l.over(a) >= from
		}
		switch passes := f.passes(timeout); {
		case strictly && passes, (strictly || clients) && !l.allFeel(f) && !slices.ContainsFunc(all, felt):
			continue
		case !l.allFeel(f) && !passes && (strictly || clients):
			until = min(until, later(from, 2*l.bound))
		}
		blocks = append(blocks, spell{from, until})
	}
	for _, process := range sortedKeys(l.hiccups) {
		of := func(a *history.Acquisition) bool { return a.Process == process }
		if !strictly || !l.clientHosts[process] || slices.ContainsFunc(all, of) {
			blocks = append(blocks, l.stillnessOf(process)...)
		}
	}
	return blocks
}

// feels reports whether a fault struck an acquisition's client, or the server that its session used.
func (d *digest) feels(a *history.Acquisition, f *fault) bool {
	return f.hits(a.Process) || f.hits(a.Client) || f.hits(d.serverAt(a.Session, max(f.began(), a.Invoked)))
}

// allFeel reports whether a fault struck the leader, or together with others that were in force then so many servers
// that no majority is left.
func (l *livenessJudge) allFeel(f *fault) bool {
	if f.strikesLeader() {
		return true
	}
	from, until := l.inForce(f)
	struck := map[string]bool{}
	for _, g := range l.faults {
		if also, over := l.inForce(g); also <= until && over >= from {
			for _, host := range g.targets {
				struck[host] = struck[host] || !l.clientHosts[hostOf(host)]
			}
		}
	}
	servers := 0
	for _, is := range struck {
		if is {
			servers++
		}
	}
	return l.facts.Servers != nil && servers > 0 && 2*servers >= len(l.facts.Servers.Ensemble)
}

// silenced are the times in which a fault kept a's client from hearing of a grant.
func (l *livenessJudge) silenced(a *history.Acquisition) spells {
	var all []spell
	for _, f := range l.faults {
		if from, until := l.inForce(f); l.feels(a, f) && !f.passes(l.longestTimeout()) {
			all = append(all, spell{from, until})
		}
	}
	return merged(all)
}

// judged says how much of the run the check judged of the lock that it could judge least, which is a doubt if it is
// less than a stall takes, in a run of more than twice as much. It says nothing if it judged all.
func (l *livenessJudge) judged(byLock map[string][]*history.Acquisition) (said string, doubts []string) {
	since := max(l.measure, 0)
	whole := l.stop - since
	least := whole
	for _, all := range byLock {
		least = min(least, whole-merged(l.blocks(all, false)).within(since, l.stop))
	}
	switch {
	case least == whole:
		return "", nil
	case least <= l.bound && whole > 2*l.bound:
		return "", []string{fmt.Sprintf("only %s of %s can be judged, because of faults and standstills, and a stall "+
			"takes %s", length(max(least, 0)), length(whole), length(l.bound))}
	}
	return fmt.Sprintf("; this judged %s of %s, without the times of faults and standstills", length(max(least, 0)),
		length(whole)), nil
}
