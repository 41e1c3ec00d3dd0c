package chaos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/harness/history"
)

// A fault of one kind does not end a fault of another kind on the same host. The second fault is recorded as missed,
// and does nothing.
func TestAFaultKeepsItsSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		slots := &slots{}
		step := func(id, kind string, at time.Duration, shared bool, keys ...string) Step {
			return Step{
				ID:    id,
				Kind:  "fake",
				At:    at,
				Until: holdFor(s.clock, 10*time.Second),
				Injector: func(context.Context) (Injector, error) {
					return slotted{Injector: fake{stage: s, id: id}, kind: kind, keys: keys, among: slots, shared: shared}, nil
				},
			}
		}
		// f1 is in force from 1 to 13 s.
		err := s.run(t.Context(), step("f1", "pause", 0, true, "zk1"),
			step("f2", "restart", 3*time.Second, false, "zk1"),
			step("f3", "slow-disk", 4*time.Second, false, "zk2", "zk1"),
			step("f4", "pause", 5*time.Second, true, "zk1"), step("f5", "stop", 6*time.Second, false, "zk2"),
			step("f6", "stop", 7*time.Second, false, "zk2"), step("f7", "kill", 30*time.Second, true, "zk1", "zk2"))
		if !errors.Is(err, ErrNobody) {
			t.Error(err)
		}
		for id, want := range map[string]string{"f1": complete, "f4": complete, "f5": complete, "f7": complete,
			"f2": "inject:invoke missed:fail", "f3": "inject:invoke missed:fail", "f6": "inject:invoke missed:fail"} {
			if got := s.told(id); got != want {
				t.Errorf("journal of %s: %s, want %s", id, got, want)
			}
		}
		for _, did := range s.did {
			for _, id := range []string{"f2", "f3", "f6"} {
				if strings.Contains(did, " "+id+" ") {
					t.Errorf("a fault that was missed did %s", did)
				}
			}
		}
		if len(slots.taken) > 0 {
			t.Errorf("slots are still taken: %v", slots.taken)
		}
	})
}

// A slot is occupied as long as the harm is there, and no longer.
func TestASlotIsFreedWhenItsFaultIsHealed(t *testing.T) {
	heal := func(context.Context) (int64, error) { return 1, nil }
	healed := 0
	for name, c := range map[string]struct {
		harm  *Harm
		err   error
		later bool
		had   bool // a slot, once injected
	}{
		"in force":            {harm: &Harm{Heal: heal}, had: true},
		"no harm":             {err: errFake},
		"failed, and harm":    {harm: &Harm{Heal: heal}, err: errFake, had: true},
		"over at once":        {harm: &Harm{}},
		"later":               {harm: &Harm{Heal: heal}, later: true, had: true},
		"later, no harm":      {err: errFake, later: true},
		"later, over at once": {harm: &Harm{}, later: true},
		"cannot be healed once": {harm: &Harm{Heal: func(context.Context) (int64, error) {
			healed++
			return 1, map[bool]error{true: errFake}[healed == 1]
		}}, had: true},
	} {
		t.Run(name, func(t *testing.T) {
			slots := &slots{}
			f := slotted{Injector: injectorFunc(func(context.Context) (*Harm, error) {
				if len(slots.taken) > 0 == c.later {
					t.Errorf("slots while it is injected: %v", slots.taken)
				}
				return c.harm, c.err
			}), kind: "pause", keys: []string{"zk1"}, among: slots, later: c.later}
			h, err := f.Inject(t.Context())
			if !errors.Is(err, c.err) || (h == nil) != (c.harm == nil) || h != nil && (h.Heal == nil) != (c.harm.Heal == nil) {
				t.Fatalf("%+v, %v", h, err)
			}
			if had := len(slots.taken) > 0; had != c.had {
				t.Fatalf("has a slot: %t", had)
			}
			for h != nil && h.Heal != nil {
				if _, err := h.Heal(t.Context()); err == nil {
					break
				}
				if len(slots.taken) == 0 {
					t.Error("the slot is free although the fault is not healed")
				}
			}
			if len(slots.taken) > 0 {
				t.Error("the slot is taken although the fault is healed")
			}
		})
	}
}

// A fault that waits for its host, and then finds its slot occupied, is undone at once.
func TestAFaultThatFindsItsSlotTakenIsUndone(t *testing.T) {
	slots := &slots{}
	down := false
	f := slotted{
		kind:  "pause",
		keys:  []string{"c1"},
		among: slots,
		later: true,
		Injector: injectorFunc(func(context.Context) (*Harm, error) {
			down = true
			if err := slots.take("kill", true, []string{"c1"}); err != nil {
				t.Error(err)
			}
			return &Harm{Heal: func(context.Context) (int64, error) { down = false; return history.None, nil }}, nil
		}),
	}
	if h, err := f.Inject(t.Context()); h != nil || !errors.Is(err, ErrNobody) || down {
		t.Errorf("%+v, %v; in force: %t", h, err, down)
	}
	if slots.taken["c1"].kind != "kill" {
		t.Errorf("%+v", slots.taken)
	}
}
