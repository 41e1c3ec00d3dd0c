package chaos

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/history"
)

// together returns a schedule of one step that injects several fakes as one.
func (s *stage) together(faults ...Injector) Step {
	return Step{ID: "f1", Kind: "fake", Until: holdFor(s.clock, 5*time.Second),
		Injector: func(context.Context) (Injector, error) { return together(faults), nil }}
}

func TestSeveralFaultsAreDoneAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		all := s.together(fake{stage: s, id: "a"}, fake{stage: s, id: "b"}, s.momentary("c"))
		if err := s.run(t.Context(), all); err != nil {
			t.Error(err)
		}
		s.expect("0s a inject", "0s b inject", "0s c inject", "1s a verify", "1s b verify", "1s c verify",
			"6s a heal", "6s b heal", "7s a heal-verify", "7s b heal-verify", "7s c heal-verify")
		if got := s.told("f1"); got != complete {
			t.Errorf("journal: %s", got)
		}
		if diff := cmp.Diff([]string{"[fake host-a,host-b,host-c]", "[]"}, s.force); diff != "" {
			t.Errorf("in force (-want +got):\n%s", diff)
		}
	})
}

func TestSeveralMomentaryFaultsAreMomentary(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		if err := s.run(t.Context(), s.together(s.momentary("a"), s.momentary("b"))); err != nil {
			t.Error(err)
		}
		s.expect("0s a inject", "0s b inject", "1s a verify", "1s b verify", "2s a heal-verify", "2s b heal-verify")
	})
}

// Either all of several faults are done, or none.
func TestAPartialInjectionIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		err := s.run(t.Context(),
			s.together(fake{stage: s, id: "a"}, fake{stage: s, id: "b", fails: map[string]bool{"inject": true}}))
		if !errors.Is(err, errFake) {
			t.Error(err)
		}
		s.expect("0s a inject", "0s b inject", "1s a heal")
		if got := s.told("f1"); got != "inject:invoke inject:fail" {
			t.Errorf("journal: %s", got)
		}
	})
}

// A fault that could be neither done nor undone is healed again by the schedule.
func TestAFailedUndoIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		a := fake{stage: s, id: "a", fails: map[string]bool{"heal": true}}
		err := s.run(t.Context(), s.together(a, fake{stage: s, id: "b", fails: map[string]bool{"inject": true}}))
		if !errors.Is(err, errFake) || s.heals["a"] != 3 {
			t.Errorf("%v, healed %d times", err, s.heals["a"])
		}
		if got := s.told("f1"); got != "inject:invoke inject:fail heal:fail heal:fail" {
			t.Errorf("journal: %s", got)
		}
	})
}

// Joined harm, and a share of it, keep what the parts did and when they are over.
func TestHarmsAreMerged(t *testing.T) {
	over := make(chan struct{})
	part := func(session history.SessionID, node string, over func(context.Context) error) Injector {
		return injectorFunc(func(context.Context) (*Harm, error) {
			return &Harm{Hosts: []string{node}, Sessions: []history.SessionID{session}, Nodes: []string{node}, Over: over,
				Heal: func(context.Context) (int64, error) { return 1, nil }}, nil
		})
	}
	ends := func(ctx context.Context) error {
		select {
		case <-over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	shares := &shares{}
	inject := func(faults ...Injector) *Harm {
		t.Helper()
		f := sharedFault{Injector: together(faults), key: "k", among: shares, clock: history.NewClock()}
		h, err := f.Inject(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	h := inject(part(1, "/a", ends), part(2, "/b", nil))
	if got := h.done(); got != "/a /b 0x1 0x2" || h.Over != nil {
		t.Errorf("done to %q; it is over by itself: %v", got, h.Over != nil)
	}
	h = inject(part(1, "/a", ends), part(2, "/b", ends))
	if h.Over(within(t, pollEvery)) == nil {
		t.Error("it is over before its parts are")
	}
	close(over)
	if err := h.Over(t.Context()); err != nil {
		t.Error(err)
	}
}

// The journal has the sessions and znodes that an administrator deleted.
func TestTheJournalHasSessionsAndZnodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		one := injectorFunc(func(context.Context) (*Harm, error) {
			nothing := func(context.Context) error { return nil }
			return &Harm{
				At:           1,
				Hosts:        []string{"c1"},
				Sessions:     []history.SessionID{7},
				Nodes:        []string{"/l/x"},
				Verify:       nothing,
				VerifyHealed: nothing,
			}, nil
		})
		inject := func(context.Context) (Injector, error) { return one, nil }
		if err := s.run(t.Context(), Step{ID: "f1", Kind: "fake", Injector: inject}); err != nil {
			t.Fatal(err)
		}
		for _, e := range s.journal {
			if e.Op == history.OpFaultInject && e.Kind == history.OK &&
				(e.Session != 7 || e.Detail != "/l/x" || e.Target != "c1") {
				t.Errorf("%+v", e)
			}
		}
	})
}

// A host that several of the faults affect is named once.
func TestHostsOfSeveralFaultsAreNamedOnce(t *testing.T) {
	got := joined([]*Harm{{Hosts: []string{"zk1", "zk3"}}, nil, {Hosts: []string{"zk3", "zk2"}}}).Hosts
	if diff := cmp.Diff([]string{"zk1", "zk3", "zk2"}, got); diff != "" {
		t.Errorf("hosts (-want +got):\n%s", diff)
	}
}
