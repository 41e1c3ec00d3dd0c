package scenario_test

import (
	"testing"

	"locklab/harness/scenario"
)

// Swarms draw faults of links with all that they need, and servers' packets are drawn
// slow to clients only: that takes no netem.
func TestSwarmsDrawFaultsOfLinks(t *testing.T) {
	s, err := scenario.Load("f.yaml", []byte("duration: 60s\nschedule: swarm\n"))
	if err != nil {
		t.Fatal(err)
	}
	drawn, ways, rejected := map[string]int{}, map[string]int{}, 0
	for seed := range uint64(200) {
		s.Seed = seed + 1
		for _, p := range s.Plan(nil).Steps {
			f := p.Fault
			drawn[f.Kind]++
			switch {
			case f.Kind == scenario.FaultPartition:
				ways[f.Way]++
				if f.Verdict == scenario.VerdictReject {
					rejected++
				}
			case f.Kind == scenario.FaultLatency && f.HitsServer() && f.From != scenario.FromClients,
				f.Kind == scenario.FaultLatency && f.Latency <= 0, f.Kind == scenario.FaultLoss && f.Loss <= 0, f.Kind == scenario.FaultBandwidth && f.Bandwidth <= 0:
				t.Errorf("seed %d draws %s", s.Seed, f)
			}
			if f.From == scenario.FromLeader && f.Target == scenario.TargetLeader {
				t.Errorf("seed %d draws %s", s.Seed, f)
			}
		}
	}
	t.Log(drawn, ways, rejected)
	for _, kind := range []string{scenario.FaultPartition, scenario.FaultLoss, scenario.FaultBandwidth, scenario.FaultLatency, scenario.FaultReset, scenario.FaultMute} {
		if drawn[kind] == 0 {
			t.Errorf("no %s in 200 swarms", kind)
		}
	}
	if len(ways) != 3 || rejected == 0 {
		t.Errorf("ways %v, %d rejected", ways, rejected)
	}
}
