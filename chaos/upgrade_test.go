package chaos

import (
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

// Without a server to replace, an upgrade is a fault without a target.
func TestNothingToUpgrade(t *testing.T) {
	u := upgrade{run: &Run{Ensemble: &ensembles.Ensemble{}}, to: "new"}
	if _, err := u.Inject(t.Context()); !errors.Is(err, ErrNobody) {
		t.Errorf("%v", err)
	}
}
