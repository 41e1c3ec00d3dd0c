package chaos

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
)

// This test covers every fault of the network, and some in pairs, on one real lab.
func TestNetworkFaults(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	stop := labtest.WatchControl(t, lab)
	defer stop()
	r := newRig(t, lab)
	caps, err := r.c1.Agent.Capabilities(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("lacking: %v", caps)
	t.Run("cuts", func(t *testing.T) { testCuts(t, r) })
	t.Run("packets", func(t *testing.T) { testPackets(t, r) })
	t.Run("latency without a relay", func(t *testing.T) { testNoNetem(t, r, caps[agent.CapNetem]) })
	t.Run("reset", func(t *testing.T) { testReset(t, r) })
	t.Run("mute", func(t *testing.T) {
		leader, followers := r.leader(t)
		h := inject(t, mute{r.ends("f1", leader, r.c1)})
		// No other host notices. The server still leads and answers others.
		if asked, err := r.c2.Agent.AskProbe(t.Context(), probeTimeout, server(leader)); err != nil ||
			asked.Errors[0] != "" {
			t.Errorf("another client: %v, %v", asked, err)
		}
		if err := followers[0].Agent.CommitWrite(t.Context()); err != nil {
			t.Error(err)
		}
		heal(t, h)
	})
	t.Run("pairs", func(t *testing.T) { testPairs(t, r) })
	for _, h := range lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource) {
		if st, err := h.Agent.Status(t.Context()); err != nil || len(st.Rules) > 0 {
			t.Errorf("%s is left %+v, %v", h.Name, st, err)
		}
	}
}

// cuts returns a cut of each shape among any five hosts.
func (r *rig) cuts(t *testing.T, verdict agent.Verdict) map[string]cut {
	t.Helper()
	five := append(slices.Clone(r.zk), r.c1, r.c2)
	leader, followers := r.leader(t)
	r1 := []*ensembles.Host{r.lab.Host("r1")}
	ring, err := majoritiesRing(five)
	if err != nil {
		t.Fatal(err)
	}
	rest := func(links []hostLink) []hostLink {
		all := slices.DeleteFunc(oneWay(five, five), func(l hostLink) bool { return slices.Contains(links, l) })
		return append(all, between(five, r1)...)
	}
	all := map[string]cut{}
	for name, links := range map[string][]hostLink{
		"a follower alone": between(followers[:1], r.zk), "the leader alone": between([]*ensembles.Host{leader}, r.zk),
		"halves": halves(r.zk[1], five), "bridge": bridge(r.c1, five), "ring": ring,
		"one way, to a server": oneWay(r.clients(1), r.zk[:1]), "one way, from servers": oneWay(r.zk, r.clients(2)),
		"one way, to the leader":  oneWay(followers[:1], []*ensembles.Host{leader}),
		"clients from one server": between(r.clients(2), r.zk[:1]), "clients from all": between(r.clients(2), r.zk),
		"a follower from its leader": between(followers[1:], []*ensembles.Host{leader}),
	} {
		all[name] = cut{id: "f1", links: links, verdict: verdict, pass: rest(links), ensemble: r.ensemble}
	}
	return all
}

func testCuts(t *testing.T, r *rig) {
	shapes := map[agent.Verdict][]string{agent.Drop: slices.Sorted(maps.Keys(r.cuts(t, agent.Drop))),
		agent.Reject: {"a follower alone", "one way, to the leader", "one way, from servers", "ring"}}
	// Of each sort of shape one: a host alone, one direction, a topology, and clients.
	often := map[string]bool{"a follower alone": true, "one way, from servers": true, "ring": true,
		"clients from one server": true}
	for verdict, names := range shapes {
		for _, name := range names {
			t.Run(fmt.Sprintf("%s %s", verdict, name), func(t *testing.T) {
				if !often[name] || verdict == agent.Reject && name != "one way, from servers" {
					suite.Nightly(t, "a cut of another shape")
				}
				c := r.cuts(t, verdict)[name] // the shapes depend on the leader
				if verdict == agent.Reject {
					heal(t, inject(t, c))
					return
				}
				var meanwhile []func() error
				// The same cut with one link more, or one that must pass, is not there.
				for what, wrong := range map[string]func(*cut){
					"a link that is free": func(c *cut) { c.links, c.pass = append(slices.Clone(c.links), c.pass[0]), nil },
					"a link that is cut":  func(c *cut) { c.pass = c.links[:1] },
				} {
					other := c
					wrong(&other)
					meanwhile = append(meanwhile, func() error {
						if other.fault().verify(t.Context()) == nil {
							return fmt.Errorf("verified with %s", what)
						}
						return nil
					})
				}
				heal(t, inject(t, c, meanwhile...))
			})
		}
	}
}

// packets returns a fault of each kind that affects packets on a client's links with these servers. The cut is always
// one from the first server.
func (r *rig) packets(t *testing.T, id string, servers ...*ensembles.Host) map[string]Injector {
	t.Helper()
	var relays []netip.AddrPort
	for _, s := range servers {
		relay, err := r.c1.Agent.Relay(t.Context(), server(s), 1)
		if err != nil {
			t.Fatal(err)
		}
		relays = append(relays, relay)
	}
	to := r.ends(id, r.c1, servers...)
	return map[string]Injector{
		"loss":      loss{to, 0.3},
		"bandwidth": bandwidth{to, 100_000},
		"latency":   latency{ends: to, relays: relays, delay: 100 * time.Millisecond, jitter: 30 * time.Millisecond},
		"cut": cut{id: id, links: oneWay(r.clients(1), r.zk[:1]), pass: oneWay(r.zk, r.clients(1)),
			ensemble: r.ensemble},
	}
}

func testPackets(t *testing.T, r *rig) {
	for name, f := range r.packets(t, "f1", r.zk...) {
		t.Run(name, func(t *testing.T) {
			h := inject(t, f)
			if got := strings.Join(h.Hosts, ","); got != "c1" {
				t.Errorf("it strikes %s", got)
			}
			// Other hosts have nothing of it. A busy machine may lose a datagram in a hundred by itself.
			const enough = 100 * (1 - stray)
			sample := transfer{count: fewestProbes, every: time.Millisecond}
			if err := each(between([]*ensembles.Host{r.c2}, r.zk), func(l hostLink) error {
				heard, err := pass(t.Context(), l, sample, sample.count)
				if err == nil && 100*heard.Count < int(enough)*sample.count {
					err = fmt.Errorf("%d of %d pass from %s to %s", heard.Count, sample.count, l.from.Name, l.to.Name)
				}
				return err
			}); err != nil {
				t.Error(err)
			}
			heal(t, h)
		})
	}
	t.Run("a server's", func(t *testing.T) {
		_, followers := r.leader(t)
		others := slices.DeleteFunc(slices.Clone(r.zk), func(h *ensembles.Host) bool { return h == followers[0] })
		h := inject(t, loss{r.ends("f1", followers[0], others...), 0.2})
		heal(t, h)
	})
}

// Without netem, a server's packets cannot be delayed, and nothing is done.
func testNoNetem(t *testing.T, r *rig, lacks string) {
	f := latency{ends: r.ends("f1", r.zk[0], r.zk[1:]...), delay: 50 * time.Millisecond}
	if lacks == "" {
		heal(t, inject(t, f))
		return
	}
	h, err := f.Inject(t.Context())
	if h != nil || !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), agent.CapNetem) {
		t.Errorf("%v, %v", h, err)
	}
	for _, z := range r.zk {
		if st, err := z.Agent.Status(t.Context()); err != nil || len(st.Rules) > 0 {
			t.Errorf("%s has %v, %v", z.Name, st.Rules, err)
		}
	}
}

// A follower whose connections are reset makes new ones.
func testReset(t *testing.T, r *rig) {
	leader, followers := r.leader(t)
	f := reset{r.ends("", followers[0], leader)}
	h, err := f.Inject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	now, err := followers[0].Agent.Connections(t.Context(), leader.Address)
	t.Logf("connections now: %v, %v", now.Open, err)
	if h.Heal != nil || h.At == 0 || !slices.Equal(h.Hosts, r.names(followers[0])) {
		t.Errorf("%+v", h)
	}
	if err := h.Verify(within(t, verifyCap)); err != nil {
		t.Error(err)
	}
	if err := h.VerifyHealed(within(t, healedCap)); err != nil {
		t.Error(err)
	}
	none := reset{r.ends("", r.c1, r.zk...)}
	if h, err := none.Inject(t.Context()); h != nil || err == nil || !strings.Contains(err.Error(), "no connections") {
		t.Errorf("a reset of nothing: %v, %v", h, err)
	}
}

// Two faults strike the same links. Each is verified beside the other, and healing one keeps the other.
func testPairs(t *testing.T, r *rig) {
	suite.Nightly(t, "each kind of packet fault is tried alone every time")
	const seed = 7
	rng := rand.New(rand.NewPCG(seed, 0))
	names := []string{"loss", "bandwidth", "latency", "cut"}
	var pairs [][2]string
	for i, a := range names {
		for _, b := range names[i:] {
			pairs = append(pairs, [2]string{a, b})
		}
	}
	rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	for _, p := range pairs[:5] {
		if rng.IntN(2) == 1 {
			p[0], p[1] = p[1], p[0]
		}
		t.Run(p[0]+" and "+p[1], func(t *testing.T) {
			// A cut of a link leaves nothing on it to be slow; a latency leaves out that server.
			faults := func(id, kind string) Injector {
				servers := r.zk
				if kind == "latency" && slices.Contains(p[:], "cut") {
					servers = r.zk[1:]
				}
				return r.packets(t, id, servers...)[kind]
			}
			first, second := faults("f1", p[0]), faults("f2", p[1])
			one := inject(t, first)
			two := inject(t, second, func() error {
				if err := one.Verify(within(t, verifyCap)); err != nil {
					return fmt.Errorf("beside %s, %s is not there: %w", p[1], p[0], err)
				}
				return nil
			})
			if _, err := one.Heal(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := one.VerifyHealed(within(t, healedCap)); err != nil {
				t.Errorf("%s is not over: %v", p[0], err)
			}
			if one.Verify(within(t, time.Second)) == nil {
				t.Errorf("%s is still there", p[0])
			}
			if err := two.Verify(within(t, verifyCap)); err != nil {
				t.Errorf("%s did not stay: %v", p[1], err)
			}
			heal(t, two)
		})
	}
}
