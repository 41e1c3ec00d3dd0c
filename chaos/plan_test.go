package chaos

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Faults with triggers that strike one host wait for one another in their order, and those of other hosts do not.
func TestFaultsWithTriggersFollowOneAnother(t *testing.T) {
	pause := func(target Target, repeat int) Fault {
		return Fault{Kind: "pause", Target: target, Trigger: TriggerHold, For: Lasting(time.Second), Repeat: repeat}
	}
	p := Planned{Faults: []Fault{pause("c1", 0), pause("c2", 0), pause("c1", 2), pause("c2", 0)}}
	got := map[string]string{}
	for _, s := range p.named(&Setting{}) {
		got[s.ID] = s.After
	}
	want := map[string]string{"f1": "", "f2": "", "f3.1": "f1", "f3.2": "f3.1", "f4": "f2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("after which fault each begins (-want +got):\n%s", diff)
	}
	if s := (&Setting{}); s.CheckTogether(p.Faults[0], p.Faults[2]) != nil {
		t.Error("two faults of one host that follow one another are refused")
	}
}
