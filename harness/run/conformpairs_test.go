package run

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/chaos"
	"locklab/ensembles/labtest"
	"locklab/harness/scenario"
)

// A pair is two trials of different families that may be in force together.
type pair [2]trial

func (p pair) String() string { return p[0].String() + " and " + p[1].String() }

// composes reports whether a scenario may have both at the same time.
func (p pair) composes(t *testing.T) bool {
	t.Helper()
	sc, err := scenario.Load("test.yaml", []byte(proving+"faults:"+p[0].entry()+p[1].entry()))
	if err == nil {
		err = sc.Validate()
	}
	if err != nil && !strings.Contains(err.Error(), "overlaps with") {
		t.Fatalf("%s: %v", p, err)
	}
	return err == nil
}

// elsewhere returns the pair with the second fault aimed at another host.
func (p pair) elsewhere() pair {
	p[1].keys = strings.NewReplacer("target: c1", "target: c2", "target: zk1", "target: zk2").Replace(p[1].keys)
	return p
}

// same reports whether both are aimed at the same host.
func (p pair) same() bool {
	target := func(f trial) string { keys, _, _ := strings.Cut(f.keys, ","); return keys }
	return target(p[0]) == target(p[1])
}

// allPairs returns the pairs of trials of different families, aimed at the same host where that is possible. It
// leaves out roles, because the test cannot choose the leader while another fault is in force.
func allPairs(t *testing.T, g *testbed) []pair {
	t.Helper()
	var some []trial
	for _, f := range allTrials(t) {
		if !strings.Contains(f.keys, "leader") && !strings.Contains(f.keys, "holder") && g.lacking(f.fault(t)) == "" {
			some = append(some, f)
		}
	}
	var all []pair
	for i, f := range some {
		for _, h := range some[i+1:] {
			if family(f) == family(h) {
				continue
			}
			p := pair{f, h}
			if needs(p) || needs(pair{h, f}) || !p.composes(t) {
				p = p.elsewhere()
			}
			if p.composes(t) && !fleeting(p) && !fleeting(pair{h, f}) {
				all = append(all, p)
			}
		}
	}
	return all
}

func family(f trial) string {
	return chaos.KindOf(f.kind).Family
}

// needs reports whether the first fault of a pair at one host takes away what the second one needs. A client that is
// not connected has no connection to reset, no session to end or move and no znode to delete, and does not come up
// again. A server that is down or has lost the others has no connection to reset and nothing to log.
func needs(p pair) bool {
	gone := []string{"pause", "kill", "stop", "crash-loop", "restart", "partition",
		"reset", "expire-session", "move-client"}
	server := []string{"reset", "slow-disk"}
	if p.same() && strings.HasPrefix(p[1].keys, "target: zk") {
		return slices.Contains(gone, p[0].kind) && slices.Contains(server, p[1].kind)
	}
	client := []string{"reset", "expire-session", "move-client", "delete-node", "crash-loop", "restart"}
	return p.same() && strings.HasPrefix(p[1].keys, "target: c") && slices.Contains(gone, p[0].kind) &&
		slices.Contains(client, p[1].kind)
}

// fleeting reports whether the first fault of a pair leaves hardly any time for the second. Without the resource,
// clients release their lock as soon as they have it, so an administrator is too late to delete their znodes.
func fleeting(p pair) bool {
	return strings.Contains(p[0].keys, "resource") && p[1].kind == "delete-node"
}

// pairs tries n pairs drawn at random; all of them if n is 0.
func (g *testbed) pairs(t *testing.T, n int) {
	all := allPairs(t, g)
	seed := pairSeed(t)
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	t.Logf("%d pairs, LOCKLAB_SEED=%d draws the same", len(all), seed)
	if n == 0 {
		n = len(all)
	}
	for _, p := range all[:min(n, len(all))] {
		first := rng.IntN(2) // that is healed
		ok := t.Run(p.String(), func(t *testing.T) { g.together(t, p, first) })
		if !ok && t.Context().Err() != nil {
			return
		}
	}
}

// pairSeed returns LOCKLAB_SEED. Without it, tests draw the same pairs each time.
func pairSeed(t *testing.T) uint64 {
	t.Helper()
	if os.Getenv("LOCKLAB_SEED") == "" {
		return 7
	}
	return soakSeed(t)
}

// firstHeal is how long healing one fault may take while the other is in force. A client process that was killed does
// not come up while it is cut off.
const firstHeal = 8 * time.Second

// together tries two faults that are in force at once. Healing one of them does not heal the other.
func (g *testbed) together(t *testing.T, p pair, first int) {
	stop := labtest.WatchControl(t, g.stage.lab)
	defer stop()
	// A fault that is over at once comes second, so that both are in force together.
	if p[0].fault(t).Momentary() {
		p[0], p[1] = p[1], p[0]
		first = 1
	}
	var both [2]injectedFault
	for i, f := range p {
		both[i] = g.inject(t, f)
		defer func() { // of a test that breaks off
			if d := both[i]; t.Failed() && d.harm != nil && d.harm.Heal != nil {
				if _, err := d.harm.Heal(within(t, trialHealed)); err != nil {
					t.Errorf("heal %s: %v", d.of, err)
				}
			}
		}()
	}
	momentary := func(i int) bool { return p[i].fault(t).Momentary() }
	if !momentary(0) {
		both[0].verified(t, "beside the other")
	}
	if momentary(1) {
		first = 1
	}
	err := g.heal(t, both[first], firstHeal)
	if err != nil {
		t.Logf("%s is not healed while the other is in force: %v", both[first].of, err)
	}
	second := 1 - first
	if !momentary(second) {
		both[second].verified(t, "the other being healed")
	}
	if err := g.heal(t, both[second], trialHealed); err != nil {
		t.Errorf("heal %s: %v", both[second].of, err)
	}
	if err != nil {
		if err := g.heal(t, both[first], trialHealed); err != nil {
			t.Errorf("heal %s again: %v", both[first].of, err)
		}
	}
	for _, d := range both {
		g.over(t, d)
	}
	g.nothingLeft(t)
}

// The soak tries all pairs.
func TestPairsOfFaultsSoak(t *testing.T) {
	if os.Getenv(soak) != "1" {
		t.Skipf("takes about half an hour; %s=1 runs it", soak)
	}
	openTestbed(t).pairs(t, 0)
}
