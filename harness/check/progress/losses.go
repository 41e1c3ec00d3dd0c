package progress

import (
	"fmt"

	"locklab/ensembles/txnlog"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// lostWithoutCause finds holds that their clients were told they had lost though nothing can have cost them: by the
// servers' transactions neither the session nor the znode had ended for a reason, no fault was in force that the client
// can have felt, no process of its host stood still, and the servers served. Without whole transactions that is a
// doubt.
func (l *LivenessJudge) lostWithoutCause(all []*history.Acquisition) (found []evidence.Finding, doubts []string) {
	for _, a := range all {
		if a.Lost == history.None || a.Lost >= l.Stop || !a.Granted() || l.ended(a) ||
			l.Digest.Disturbed(a.Returned, a.Lost, a.Process) {
			continue
		}
		f := evidence.Finding{
			Kind: evidence.KindLostWithoutCause, Lock: a.Lock, At: a.Returned, Until: a.Lost, Cause: evidence.CauseNone,
			Clients: []string{a.Client}, Tokens: []int64{a.Token}, Events: l.EventsOf(a),
			Text: fmt.Sprintf("%s was told at %s that it had lost %s, which it had had since %s, and nothing can have cost it "+
				"the lock", evidence.Holder(a), evidence.Seconds(a.Lost), a.Lock, evidence.Seconds(a.Returned)),
		}
		if l.Transactions.Whole() {
			found = append(found, f)
		} else if len(doubts) == 0 {
			doubts = []string{f.Text + ", as far as is known without the servers' transactions"}
		}
	}
	return found, doubts
}

// ended reports whether the servers had ended a lost hold for a reason: its session had expired, or the znode or
// session was ended in its client's name, or by servers that contradict themselves.
func (l *LivenessJudge) ended(a *history.Acquisition) bool {
	at, end := l.Digest.EndAtServers(a)
	if end == nil || at-2*l.Transactions.Clock.Err > a.Lost+l.BackAt() {
		return false
	}
	s := l.Transactions.History.Sessions[end.By]
	x := l.Digest.Ended(a, "", end)
	return end.Cause == txnlog.CloseSession && s != nil && s.Expired || x.Explained() || x.Unsure()
}
