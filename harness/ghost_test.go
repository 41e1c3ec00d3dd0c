package harness

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/harness/history"
	"locklab/harness/scenario"
)

// ghosts are the locks' ephemeral znodes, by path with their session, that some server has and another has not, each having
// committed a write of its own behind the look before, in two looks.
func (g *ground) ghosts(t *testing.T) map[string]history.SessionID {
	t.Helper()
	ctx := within(t, trialHealed)
	var first map[string]history.SessionID
	for range 2 {
		count := map[string]int{}
		owner := map[string]history.SessionID{}
		for _, h := range g.stage.ensemble.Servers {
			if err := h.Agent.CommitWrite(ctx); err != nil {
				t.Fatal(err)
			}
		}
		for _, h := range g.stage.ensemble.Servers {
			for session, paths := range g.ephemerals(ctx, t, h) {
				for _, p := range paths {
					count[p]++
					owner[p] = history.SessionID(session)
				}
			}
		}
		maps.DeleteFunc(owner, func(p string, _ history.SessionID) bool {
			return count[p] == len(g.stage.ensemble.Servers) || !strings.HasPrefix(p, g.locks[0]+"/") || first != nil && first[p] == 0
		})
		first = owner
		if len(first) == 0 {
			break
		}
		time.Sleep(trialLook) // not a wait for anything: what is on its way is through after the next writes
	}
	return first
}

func (g *ground) ephemerals(ctx context.Context, t *testing.T, h *ensembles.Host) map[int64][]string {
	t.Helper()
	answer, err := h.Agent.Ask(ctx, "dump")
	if err != nil {
		t.Fatal(err)
	}
	return parseDump(strings.NewReader(answer))
}

// exorcise has the sessions end of whose znodes one server has more than the others: where a server's disk has stood still, and it
// is started again later, ZooKeeper 3.8.0 brings deleted znodes back ([relogged]), and who is connected there waits for ever. It is
// the servers' own fault and none of the lab's, but it must not spoil the trials that follow.
func (g *ground) exorcise(t *testing.T) {
	t.Helper()
	ghosts := g.ghosts(t)
	hosts := map[string]bool{}
	for path, session := range ghosts {
		t.Logf("one server has %s of session %s, and another has not: ZOOKEEPER-4541", path, session)
		g.live.mu.Lock()
		hosts[g.live.owners[session]] = true
		g.live.mu.Unlock()
	}
	for _, h := range slices.Sorted(maps.Keys(hosts)) {
		d, err := g.make(t, trial{scenario.FaultRestart, "target: " + h})
		if err == nil {
			err = g.heal(t, d, trialHealed)
		}
		if err == nil {
			err = d.harm.VerifyHealed(within(t, trialHealed))
		}
		if err != nil {
			t.Errorf("end the session of %s: %v", h, err)
		}
	}
	if left := g.ghosts(t); len(left) > 0 {
		t.Errorf("servers differ: %v", left)
	}
}
