package rundir

import (
	"fmt"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// localSessions says what an ensemble's logs do not tell because it has local sessions (localSessionsEnabled): servers
// log such a session only when it is upgraded, and otherwise neither its beginning nor its end. Such sessions show by
// grants to clients whose sessions begin in no log. It returns "" if there are none, or if the servers are a lab's,
// which have no local sessions.
func localSessions(sc *scenario.Scenario, events *history.Log, h *nodes.History) string {
	if sc.Connect == "" || foreign(sc) {
		return ""
	}
	missing := map[history.SessionID]bool{}
	var first history.Event
	for _, e := range events.Of(history.OpAcquire) {
		if e.Kind != history.OK || e.Session == 0 || e.Token > h.Last {
			continue
		}
		if s := h.Sessions[int64(e.Session)]; s == nil || s.Created == 0 {
			if len(missing) == 0 {
				first = e
			}
			missing[e.Session] = true
		}
	}
	if len(missing) == 0 {
		return ""
	}
	others := ""
	switch n := len(missing) - 1; {
	case n == 1:
		others = ", and so does one other"
	case n > 1:
		others = fmt.Sprintf(", and so do %d others", n)
	}
	return fmt.Sprintf("session %s of %s, with which it was granted a lock, begins in no log%s; the ensemble seems to "+
		"have local sessions (localSessionsEnabled), of which servers log neither the beginning nor the end, so what "+
		"depends on these cannot be judged", first.Session, first.Client, others)
}
