package chaos

import (
	"slices"
	"testing"

	"locklab/ensembles"
)

// lines are the command lines of client processes, in words of the test's own.
type lines struct{}

func (lines) Arm(fault, point, action string) string {
	return "arm " + fault + " " + point + " " + action
}
func (lines) Strike(fault, action, client string) string {
	return "strike " + fault + " " + action + " " + client
}
func (lines) Undo(fault, action string) string { return "undo " + fault + " " + action }

// Every kind that occupies a slot takes it on all of its hosts before it harms any of them.
func TestFaultsTakeTheirSlots(t *testing.T) {
	r := &Run{Ensemble: &ensembles.Ensemble{}, Commands: lines{},
		Process: func(h *ensembles.Host) Process { return Process{Host: h} }}
	for _, k := range Kinds() {
		if k.Slot == "" {
			continue
		}
		role, names := ensembles.Server, []string{"zk1", "zk2"}
		if k.Targets&(OnServer|OnAll) == 0 {
			role, names = ensembles.Client, []string{"c1", "c2"}
		}
		var hosts []*ensembles.Host
		var keys []string
		for _, name := range names {
			hosts = append(hosts, &ensembles.Host{Name: name, Role: role})
			keys = append(keys, k.Slot+" of "+name)
		}
		f, err := k.injector(r, injection{Fault: Fault{Kind: k.Name, Params: k.Params}, id: "f1", hosts: hosts})
		if err != nil {
			t.Fatalf("%s: %v", k.Name, err)
		}
		s, ok := f.(slotted)
		if !ok || s.kind != k.Name || s.shared != k.Shared || s.among != &r.slots || !slices.Equal(s.keys, keys) {
			t.Errorf("%s is %+v", k.Name, f)
		}
	}
}
