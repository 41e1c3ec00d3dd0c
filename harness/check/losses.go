package check

import (
	"fmt"
	"slices"

	"locklab/ensembles/txnlog"
	"locklab/harness/history"
)

// lostWithoutCause finds holds that their clients were told they had lost though nothing can have cost them: by the
// servers' transactions neither the session nor the znode had ended for a reason, no fault was in force that the client
// can have felt, no process of its host stood still, and the servers served. Without whole transactions that is a
// doubt.
func (l *livenessJudge) lostWithoutCause(all []*history.Acquisition) (found []Finding, doubts []string) {
	for _, a := range all {
		if a.Lost == history.None || a.Lost >= l.stop || !a.Granted() || l.ended(a) ||
			l.digest.disturbed(a.Returned, a.Lost, a.Process) {
			continue
		}
		f := Finding{
			Kind: KindLostWithoutCause, Lock: a.Lock, At: a.Returned, Until: a.Lost, Cause: CauseNone,
			Clients: []string{a.Client}, Tokens: []int64{a.Token}, Events: l.eventsOf(a),
			Text: fmt.Sprintf("%s was told at %s that it had lost %s, which it had had since %s, and nothing can have cost it "+
				"the lock", holder(a), seconds(a.Lost), a.Lock, seconds(a.Returned)),
		}
		if l.transactions.whole() {
			found = append(found, f)
		} else if len(doubts) == 0 {
			doubts = []string{f.Text + ", as far as is known without the servers' transactions"}
		}
	}
	return found, doubts
}

// ended reports whether the servers had ended a lost hold for a reason: its session had expired, or the znode or
// session was ended in its client's name, or by servers that contradict themselves.
func (l *livenessJudge) ended(a *history.Acquisition) bool {
	at, end := l.digest.gone(a)
	if end == nil || at-2*l.transactions.clock.err > a.Lost+l.backAt() {
		return false
	}
	s := l.transactions.History.Sessions[end.By]
	x := l.digest.ended(a, "", end)
	return end.Cause == txnlog.CloseSession && s != nil && s.Expired || x.explained() || x.unsure()
}

// disturbed reports whether something may have cost one of some processes a session, or the use of the lock, between
// two instants: a fault of theirs or of a server, in force then or over for no longer than it takes until the session
// has expired or its client is heard again; a standstill of theirs; or servers that did not serve.
func (d *digest) disturbed(from, until int64, processes ...string) bool {
	since := from
	if t := d.longestTimeout(); t > 0 {
		since -= t + 2*int64(d.facts.Tick) + d.slack()
	}
	return slices.ContainsFunc(d.faults, func(f *fault) bool {
		_, healed := f.effect()
		return f.possible() && (f.silences() || f.nature.DeletesZnodes) && f.began()-d.slack() <= until && healed >= since &&
			(slices.ContainsFunc(processes, f.hits) || !d.onlyClients(f))
	}) || slices.ContainsFunc(processes, func(p string) bool {
		return slices.ContainsFunc(d.hiccups[p], func(e *history.Event) bool {
			return e.Hiccup() >= Standstill(d.facts.Tick) && e.At-int64(e.Hiccup()) <= until && e.At >= since
		})
	}) || slices.ContainsFunc(d.unserved(), func(s spell) bool { return s.from <= until && s.until >= from })
}
