package run

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/harness/history"
)

// revivedZnodes returns the ephemeral znodes of the locks, with their sessions, that one server has and another
// lacks. It looks twice, each time after every server has committed a write.
func (g *testbed) revivedZnodes(t *testing.T) map[string]history.SessionID {
	t.Helper()
	ctx := within(t, trialHealed)
	var first map[string]history.SessionID
	for range 2 {
		count := map[string]int{}
		owner := map[string]history.SessionID{}
		for _, h := range g.stage.ensemble.Servers {
			if err := ensembles.Poll(ctx, 100*time.Millisecond, "a write through "+h.Name,
				func() error { return h.Agent.CommitWrite(ctx) }); err != nil {
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
			return count[p] == len(g.stage.ensemble.Servers) || !strings.HasPrefix(p, g.locks[0]+"/") ||
				first != nil && first[p] == 0
		})
		first = owner
		if len(first) == 0 {
			break
		}
		time.Sleep(trialLook) // not a wait for anything: what is on its way is through after the next writes
	}
	return first
}

func (g *testbed) ephemerals(ctx context.Context, t *testing.T, h *ensembles.Host) map[int64][]string {
	t.Helper()
	answer, err := h.Agent.Ask(ctx, "dump")
	if err != nil {
		t.Fatal(err)
	}
	return ensembles.ParseDump(answer)
}

// endRevivedSessions ends the sessions whose znodes one server has and another lacks. When a server whose disk had
// stalled is restarted later, ZooKeeper 3.8.0 may revive deleted znodes (ZOOKEEPER-4541), and clients connected to it
// wait forever. That is a bug of the server and not of the lab, but it must not spoil the trials that follow.
func (g *testbed) endRevivedSessions(t *testing.T) {
	t.Helper()
	ghosts := g.revivedZnodes(t)
	hosts := map[string]bool{}
	for path, session := range ghosts {
		t.Logf("one server has %s of session %s, and another has not: ZOOKEEPER-4541", path, session)
		for _, client := range g.sc.ClientNames() { // a session that is no client's last one ends by itself
			if g.view.SessionOf(client) == session {
				hosts[history.HostOf(client)] = true
			}
		}
	}
	for _, h := range slices.Sorted(maps.Keys(hosts)) {
		d, err := g.tryInject(t, trial{"restart", "target: " + h})
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
	if left := g.revivedZnodes(t); len(left) > 0 {
		t.Errorf("servers differ: %v", left)
	}
}
