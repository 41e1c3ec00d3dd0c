package run

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// Whatever a fault can leave on a host is undone and reported.
func TestUndoFaultsOn(t *testing.T) {
	const nothing = "/status"
	for name, c := range map[string]struct {
		status agent.Status
		asked  []string
		left   string
	}{
		"nothing": {agent.Status{State: history.ProcessStarted}, []string{nothing}, ""},
		"stopped": {agent.Status{State: history.ProcessStopped}, []string{nothing, "/resume"}, "zk1 was stopped"},
		"down, its clock off": {agent.Status{State: history.ProcessExited, ClockOffset: time.Hour},
			[]string{nothing, "/restart", "/clock"},
			"zk1 was down, zk1 had its clock off by 1h0m0s"},
		"rules and a slow disk": {
			agent.Status{State: history.ProcessStarted, Rules: []string{"f1", "f2"}, Stalls: []string{"f3"}},
			[]string{nothing, "/clear", "/unstall"}, "zk1 had rules f1 f2, zk1 had its disk stalled by f3"},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				asked = append(asked, r.URL.Path)
				json.NewEncoder(w).Encode(c.status)
			}))
			defer s.Close()
			h := &ensembles.Host{
				Name:  "zk1",
				Role:  ensembles.Server,
				Agent: agent.NewClient("zk1", strings.TrimPrefix(s.URL, "http://"), ""),
			}
			defer h.Agent.Close()
			left, err := undoFaultsOn(t.Context(), h)
			if got := strings.Join(left, ", "); err != nil || got != c.left {
				t.Errorf("left %q, %v; want %q", got, err, c.left)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(asked, c.asked) {
				t.Errorf("asked for %v, want %v", asked, c.asked)
			}
		})
	}
}
