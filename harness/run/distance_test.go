package run

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/scenario"
	"locklab/workloads/control"
)

// A client's host connects to each server through a relay that has the scenario's round trip, and a run goes on only if
// answers through the relays take that long. A server that serves no clients is not asked.
func TestRoundTrip(t *testing.T) {
	const added = 20 * time.Millisecond
	zk1 := &ensembles.Host{Name: "zk1", Server: netip.MustParseAddrPort("127.0.0.8:2181")}
	zk2 := &ensembles.Host{Name: "zk2", Server: netip.MustParseAddrPort("127.0.0.9:2181")}
	relays := map[netip.AddrPort]netip.AddrPort{
		zk1.Server: netip.MustParseAddrPort("127.0.0.1:81"), zk2.Server: netip.MustParseAddrPort("127.0.0.1:82")}
	for name, c := range map[string]struct {
		took   []time.Duration
		first  string // why zk1 does not answer the first question; empty = it does
		silent *ensembles.Host
		want   string // in the error; empty = there is none
	}{
		"far":              {[]time.Duration{added, time.Second}, "", nil, ""},
		"too near":         {[]time.Duration{added, added - 1}, "", nil, "zk2 answered after 19.999999ms"},
		"answers late":     {[]time.Duration{added, added}, "reset", nil, ""},
		"has clients, one": {[]time.Duration{added}, "", zk1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
				switch q.URL.Path {
				case "/relay":
					var in agent.RelayRequest
					if err := json.NewDecoder(q.Body).Decode(&in); err != nil || in.RoundTrip == nil || *in.RoundTrip != added {
						t.Errorf("asked for the relay %+v: %v", in, err)
					}
					_ = json.NewEncoder(w).Encode(agent.RelayResult{Address: relays[in.To]})
				case "/probe":
					answer := agent.ProbeResult{Took: c.took, Errors: make([]string, len(c.took))}
					if asked++; asked == 1 {
						answer.Errors[0] = c.first
					}
					_ = json.NewEncoder(w).Encode(answer)
				}
			}))
			defer s.Close()
			h := &ensembles.Host{Name: "c1", Agent: agent.NewClient("c1", strings.TrimPrefix(s.URL, "http://"), "")}
			defer h.Agent.Close()
			ensemble := &ensembles.Ensemble{Servers: []*ensembles.Host{zk1, zk2}, Silent: c.silent}
			r := &run{stage: &Stage{ensemble: ensemble}, plan: chaos.Plan{}, relays: map[link]netip.AddrPort{},
				sc:      &scenario.Scenario{RoundTrip: scenario.RoundTrip{Relayed: true, Added: added}},
				detours: map[link]detour{{h, zk1}: byRelay, {h, zk2}: byRelay}}
			got, err := r.routes(t.Context(), h, placement{servers: ensemble.Servers})
			want := []control.Server{{Name: "zk1", Address: "127.0.0.1:81"}, {Name: "zk2", Address: "127.0.0.1:82"}}
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Fatalf("%v (-want +got)\n%s", err, diff)
			}
			err = r.verifyRoundTrip(t.Context(), h)
			if c.want == "" && err != nil {
				t.Error(err)
			}
			if wants := 1 + len(c.first)/len("reset"); asked != wants {
				t.Errorf("asked %d times, want %d", asked, wants)
			}
			if c.want != "" && (!errors.Is(err, ErrBrokeOff) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// A run without a round trip asks nobody.
func TestNoRoundTrip(t *testing.T) {
	r := &run{sc: scenario.Defaults(), stage: &Stage{}}
	if err := r.verifyRoundTrip(t.Context(), &ensembles.Host{Name: "c1"}); err != nil {
		t.Error(err)
	}
}
