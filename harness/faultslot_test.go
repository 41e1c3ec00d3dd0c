package harness

import (
	"slices"
	"testing"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/scenario"
)

// Every kind that needs something of a host for itself takes it of all hosts that it strikes, before it does any of them harm.
func TestFaultsTakeTheirSlots(t *testing.T) {
	r := &run{live: newLive(), stage: &Stage{ensemble: &ensembles.Ensemble{}}}
	for _, k := range scenario.FaultKinds() {
		if k.Slot == "" {
			continue
		}
		role, names := ensembles.Server, []string{"zk1", "zk2"}
		if k.Targets&(scenario.OnServer|scenario.OnAll) == 0 {
			role, names = ensembles.Client, []string{"c1", "c2"}
		}
		var hosts []*ensembles.Host
		var keys []string
		for _, name := range names {
			hosts = append(hosts, &ensembles.Host{Name: name, Role: role})
			keys = append(keys, k.Slot+" of "+name)
		}
		for _, family := range constructors {
			if family[k.Name] == nil {
				continue
			}
			f, err := family[k.Name](r, strike{Fault: scenario.Fault{Kind: k.Name, By: time.Hour}, id: "f1", hosts: hosts})
			if err != nil {
				t.Fatalf("%s: %v", k.Name, err)
			}
			s, ok := f.(chaos.Slotted)
			if !ok || s.Kind != k.Name || s.Shared != k.Shared || s.Among != &r.slots || !slices.Equal(s.Keys, keys) {
				t.Errorf("%s is %+v", k.Name, f)
			}
		}
	}
}
