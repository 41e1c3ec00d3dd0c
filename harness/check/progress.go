package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/harness/history"
)

// progress asks whether every client whose process lives was granted a lock after the last heal, where each of them
// asks again and again. It says which were not, and why that is not known.
//
// Such a client is a finding only if it had the time that a stall takes, and its turn: where the lock is fair, twice
// as many grants as there are clients. An unfair lock promises no client a turn. Where a server contradicts the others
// about the lock, the lock is not to blame, and the finding is a doubt.
func (l *livenessJudge) progress(heal int64) (stuck []Finding, doubts []string) {
	if !l.facts.Progress || heal == history.None {
		return nil, nil
	}
	until := l.stop
	if l.drain != history.None {
		until = l.drain
	}
	last := map[string]*history.Acquisition{} // by client
	done := map[string]bool{}
	var grants int64
	for i := range l.acquisitions {
		a := &l.acquisitions[i]
		last[a.Client] = a
		if a.Granted() && a.Returned >= heal {
			grants++
			done[a.Client] = true
		}
		if a.Granted() && a.Returned < heal && l.believedUntil(a) >= until {
			done[a.Client] = true // it held the lock all the time
		}
	}
	during := fmt.Sprintf("in the %s after the last heal", length(until-heal))
	others := ", in which others got " + count(grants, "grant", "grants")
	var late, excused []string
	var server string // what it said that excuses the first of them
	for _, client := range sortedKeys(last) {
		a := last[client]
		if done[client] || !l.lives(a.Process) {
			continue
		}
		late = append(late, client)
		f := Finding{
			Kind:    KindNoProgress,
			Lock:    a.Lock,
			At:      heal,
			Until:   until,
			Cause:   CauseNone,
			Clients: []string{client},
			Events:  l.eventsOf(a),
			Text:    client + " got no lock " + during + others,
		}
		said := f.Text
		if l.blameServer(&f) {
			excused, server = append(excused, client), cmp.Or(server, strings.TrimPrefix(f.Text, said))
			continue
		}
		stuck = append(stuck, f)
	}
	if len(excused) > 0 {
		doubts = []string{withoutLock(excused) + " " + during + others + server}
	}
	switch {
	case len(late) == 0:
		return nil, nil
	case slices.ContainsFunc(l.unserved(), func(s spell) bool { return s.until > heal }):
		return nil, []string{withoutLock(late) + " " + during + ", but there were servers that did not serve"}
	case until-heal <= l.bound:
		return nil, []string{
			fmt.Sprintf("%s %s, which is too short to tell: a stall takes %s", withoutLock(late), during, length(l.bound)),
		}
	case grants > 0 && (!l.facts.Queue || grants < 2*int64(len(last))):
		return nil, []string{
			fmt.Sprintf("%s after the last heal, and it is not known whether its turn had come (%s)", withoutLock(late),
				count(grants, "grant", "grants")),
		}
	}
	return stuck, doubts
}

// withoutLock says that these clients got no lock.
func withoutLock(clients []string) string {
	if len(clients) == 1 {
		return clients[0] + " got no lock"
	}
	return fmt.Sprintf("%s and %d more got no lock", clients[0], len(clients)-1)
}

// lives reports whether the process of a host was running when the run was over.
func (d *digest) lives(host string) bool {
	lives := true
	for _, e := range d.events.Of(history.OpProcess) {
		if d.collect != history.None && e.At >= d.collect {
			break
		}
		if e.Process == host {
			lives = !e.ProcessIs(history.ProcessExited) && !e.ProcessIs(history.ProcessStopped)
		}
	}
	return lives
}
