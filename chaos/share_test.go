package chaos

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// A toy is a process that any test function can stop and end, as an agent sees it.
type toy struct {
	*stage
	down bool
	ends bool // it cannot be harmed twice
}

func (p *toy) Inject(context.Context) (*Harm, error) {
	if p.down && p.ends {
		return nil, fmt.Errorf("kill: %w", agent.ErrNoProcess)
	}
	p.down = true
	p.note("down")
	return &Harm{At: p.clock.Now(), Hosts: []string{"host"},
		Verify: func(context.Context) error {
			if !p.down {
				return errFake
			}
			return nil
		},
		Heal: func(context.Context) (int64, error) {
			p.down = false
			p.note("up")
			return p.clock.Now(), nil
		},
		VerifyHealed: func(context.Context) error {
			if p.down {
				return errFake
			}
			return nil
		}}, nil
}

// Harm that several faults do to one host is over when the last of them is, in whichever order they end.
func TestTheLastOfSeveralFaultsHeals(t *testing.T) {
	for name, ends := range map[string]bool{"stopped": false, "ended": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				p := &toy{stage: s, ends: ends}
				shares := &shares{}
				step := func(id string, at, hold time.Duration) Step {
					return Step{ID: id, Kind: "fake", At: at, Until: holdFor(s.clock, hold),
						Injector: func(context.Context) (Injector, error) {
							return sharedFault{Injector: p, key: "toy", among: shares, clock: s.clock}, nil
						}}
				}
				// The second within the first; then two that follow each other over the first's end; then one alone.
				err := s.run(t.Context(), step("f1", time.Second, 10*time.Second),
					step("f2", 3*time.Second, 2*time.Second), step("f3", 10*time.Second, 5*time.Second),
					step("f4", 14*time.Second, 4*time.Second), step("f5", 30*time.Second, time.Second))
				if err != nil {
					t.Error(err)
				}
				want := []string{"1s down", "3s down", "10s down", "14s down", "18s up", "30s down", "31s up"}
				if ends {
					want = []string{"1s down", "18s up", "30s down", "31s up"}
				}
				if diff := cmp.Diff(want, s.did); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				for _, id := range []string{"f1", "f2", "f3", "f4", "f5"} {
					if got := s.told(id); got != complete {
						t.Errorf("journal of %s: %s", id, got)
					}
				}
				for _, e := range s.journal { // what joins is stamped when it does
					if e.Op == history.OpFaultInject && e.Kind == history.OK && e.Fault == "f4" && e.At != s.clock.Now()-17e9 {
						t.Errorf("%v", e)
					}
				}
			})
		})
	}
}

// A part that is healed twice counts once, and a fault that failed has no part.
func TestAPartCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		p := &toy{stage: s}
		shares := &shares{}
		part := func() *Harm {
			h, err := sharedFault{Injector: p, key: "toy", among: shares, clock: s.clock}.Inject(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		failing := sharedFault{
			Injector: fake{stage: s, id: "f", fails: map[string]bool{"inject": true}},
			key:      "toy",
			among:    shares,
			clock:    s.clock,
		}
		if _, err := failing.Inject(t.Context()); !errors.Is(err, errFake) {
			t.Error(err)
		}
		a, b := part(), part()
		if a.VerifyHealed(t.Context()) == nil {
			t.Error("over before it is healed")
		}
		for range 3 {
			if _, err := a.Heal(t.Context()); err != nil || !p.down {
				t.Errorf("healing a ended the harm that b still needs: %v", err)
			}
		}
		if err := a.VerifyHealed(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := b.Heal(t.Context()); err != nil || p.down {
			t.Errorf("not healed: %v", err)
		}
		if _, err := a.Heal(t.Context()); err != nil || p.down {
			t.Errorf("%v", err)
		}
	})
}
