package harness

import (
	"fmt"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// znodeFaults make the faults that do harm to znodes: to those of the run's first lock.
var znodeFaults = map[string]constructor{
	scenario.FaultDeleteNode: onEach(func(r *run, s strike, h *ensembles.Host) (chaos.Fault, error) {
		session := r.live.sessionOf(s.of(h))
		if session == 0 {
			return nil, fmt.Errorf("%s has no session", s.of(h))
		}
		return chaos.DeleteNode{Ensemble: r.stage.ensemble, Lock: r.locks[0], Session: session, Owner: r.live.ownerOf}, nil
	}),
	scenario.FaultDeleteParent: func(r *run, _ strike) (chaos.Fault, error) {
		return chaos.DeleteParent{Ensemble: r.stage.ensemble, Lock: r.locks[0]}, nil
	},
	scenario.FaultForeignChildren: func(r *run, s strike) (chaos.Fault, error) {
		return chaos.ForeignChildren{ID: s.id, Ensemble: r.stage.ensemble, Lock: r.locks[0]}, nil
	},
}

// sessionOf is the last session of a client; 0 if there is none.
func (l *live) sessionOf(client string) history.SessionID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.latest[client]
}

// ownerOf is the host whose client's session it is; empty if nobody knows.
func (l *live) ownerOf(s history.SessionID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.owners[s]
}
