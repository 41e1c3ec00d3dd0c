package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// progress asks whether every client whose process lives was granted a lock after the last heal, where each of them
// asks again and again. It says which were not, and why that is not known.
//
// Such a client is a finding only if it had the time that a stall takes, and its turn: where the lock is fair, twice
// as many grants as there are clients. An unfair lock promises no client a turn. Where a server contradicts the others
// about the lock, the lock is not to blame, and the finding is a doubt.
func (l *LivenessJudge) progress(heal int64) (stuck []evidence.Finding, doubts []string) {
	if !l.Facts.Progress || heal == history.None {
		return nil, nil
	}
	until := l.Stop
	if l.Drain != history.None {
		until = l.Drain
	}
	last := map[string]*history.Acquisition{} // by client
	done := map[string]bool{}
	var grants int64
	for i := range l.Acquisitions {
		a := &l.Acquisitions[i]
		last[a.Client] = a
		if a.Granted() && a.Returned >= heal {
			grants++
			done[a.Client] = true
		}
		if a.Granted() && a.Returned < heal && l.BelievedUntil(a) >= until {
			done[a.Client] = true // it held the lock all the time
		}
	}
	during := fmt.Sprintf("in the %s after the last heal", evidence.Length(until-heal))
	others := ", in which others got " + evidence.Count(grants, "grant", "grants")
	var late, excused []string
	var server string // what it said that excuses the first of them
	for _, client := range evidence.SortedKeys(last) {
		a := last[client]
		if done[client] || !lives(l.Digest, a.Process) {
			continue
		}
		late = append(late, client)
		f := l.FindingOf(evidence.KindNoProgress, a, heal, until, "%s got no lock %s%s", client, during, others)
		said := f.Text
		if l.blameServer(&f) {
			excused, server = append(excused, client), cmp.Or(server, strings.TrimPrefix(f.Text, said))
			continue
		}
		if stood := l.PerhapsStood(a, heal, until).Lasts(); stood > 0 && until-heal-stood <= l.Bound {
			l.unseen = append(l.unseen, f)
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
	case slices.ContainsFunc(l.Unserved(false), func(s spans.Span) bool { return s.Until > heal }):
		return nil, []string{withoutLock(late) + " " + during + ", but there were servers that did not serve"}
	case until-heal <= l.Bound:
		return nil, []string{fmt.Sprintf("%s %s, which is too short to tell: a stall takes %s", withoutLock(late), during,
			evidence.Length(l.Bound))}
	case grants > 0 && (!l.Facts.Queue || grants < 2*int64(len(last))):
		return nil, []string{
			fmt.Sprintf("%s after the last heal, and it is not known whether its turn had come (%s)", withoutLock(late),
				evidence.Count(grants, "grant", "grants")),
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
func lives(d *evidence.Digest, host string) bool {
	lives := true
	for _, e := range d.Events.Of(history.OpProcess) {
		if d.Collect != history.None && e.At >= d.Collect {
			break
		}
		if e.Process == host {
			lives = !e.ProcessIs(history.ProcessExited) && !e.ProcessIs(history.ProcessStopped)
		}
	}
	return lives
}
