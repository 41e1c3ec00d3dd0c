package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// telling returns a server's host whose agent answers srvr with that.
func telling(t *testing.T, name, answer string) *ensembles.Host {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	t.Cleanup(s.Close)
	c := agent.NewClient(name, strings.TrimPrefix(s.URL, "http://"), "")
	t.Cleanup(c.Close)
	return &ensembles.Host{Name: name, Agent: c}
}

// The leader is replaced when no other server is left, whoever leads by then.
func TestLeaderIsUpgradedLast(t *testing.T) {
	leader := telling(t, "zk1", "Zookeeper version: 3.8.0-a, built on a day\nMode: leader\n")
	down := telling(t, "zk2", "This ZooKeeper instance is not currently serving requests\n")
	follower := telling(t, "zk3", "Zookeeper version: 3.8.0-b, built on a day\nMode: follower\n")
	u := upgrade{run: &Run{Ensemble: &ensembles.Ensemble{Servers: []*ensembles.Host{leader, down, follower}}}}
	left := []Process{{Host: leader}, {Host: down}, {Host: follower}}
	if got := u.leaderLast(t.Context(), left); got != 2 {
		t.Errorf("%s is next", left[got].Host.Name)
	}
	if got := u.leaderLast(t.Context(), left[:1]); got != 0 {
		t.Errorf("of the leader alone, %d is next", got)
	}
	// One build that differs is another version.
	u.run.Ensemble.Servers = []*ensembles.Host{leader, follower}
	err := u.all(t.Context(), "3.8.0-a, built on a day")
	if err == nil || !strings.Contains(err.Error(), `zk3 tells "3.8.0-b`) || strings.Contains(err.Error(), "zk1 tells") {
		t.Errorf("%v", err)
	}
	u.run.Ensemble.Servers = []*ensembles.Host{leader}
	if err := u.all(t.Context(), "3.8.0-a, built on a day"); err != nil {
		t.Error(err)
	}
}

// An upgrade whose first server is not back when the schedule ends is completed, and is verified by what that server
// tells then.
func TestAnUpgradeOutlastsTheSchedule(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	a, h := newAgency(t)
	asked := 0 // how often the new server was
	a.srvr = func(starts int) string {
		if starts == 1 {
			return "Zookeeper version: 3.8.0-a, built on a day\n"
		}
		if asked++; asked == 1 {
			end()
			return "This ZooKeeper instance is not currently serving requests\n"
		}
		return "Zookeeper version: 3.8.0-b, built on a day\n"
	}
	of := &Run{Ensemble: &ensembles.Ensemble{Servers: []*ensembles.Host{h}}}
	of.Process = func(h *ensembles.Host) Process { return Process{Host: h} }
	harm, err := upgrade{run: of, hosts: []*ensembles.Host{h}, to: ensembles.DefaultVersion}.Inject(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() == nil {
		t.Error("the schedule goes on")
	}
	if err := harm.Verify(t.Context()); err != nil || !strings.Contains(harm.done(), "3.8.0-a, built on a day → 3.8.0-b") {
		t.Errorf("done %q, %v", harm.done(), err)
	}
}

// Without a server to replace, an upgrade is a fault without a target.
func TestNothingToUpgrade(t *testing.T) {
	u := upgrade{run: &Run{Ensemble: &ensembles.Ensemble{}}, to: "new"}
	if _, err := u.Inject(t.Context()); !errors.Is(err, ErrNobody) {
		t.Errorf("%v", err)
	}
}
