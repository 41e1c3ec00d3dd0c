package rundir

import (
	"fmt"
	"path"

	"locklab/harness/check"
	"locklab/harness/history"
)

// unanswered says whether more accesses of clients were accepted than the resource recorded, because a part of its
// record is missing then: it records each access before it answers. Accesses that were refused tell nothing, because
// clients refuse some themselves.
func unanswered(r *Run) []string {
	if r.Scenario.Guard == check.GuardZKMulti {
		return nil // ZooKeeper answers
	}
	type access struct {
		client, lock string
		op           history.Op
	}
	missing := map[access]int{}
	for _, e := range r.Events.Of(history.OpEnter, history.OpRead, history.OpWrite, history.OpExit) {
		a := access{e.Client, e.Lock, e.Op}
		switch {
		case e.Kind != history.OK:
		case e.Process == ResourceHost:
			missing[a]--
		default:
			missing[a]++
		}
	}
	total := 0
	for _, n := range missing {
		total += max(n, 0)
	}
	if total == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s lacks %d accesses that were accepted by the clients' records",
		path.Join(hostsDir, ResourceHost, processHistory), total)}
}
