package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/history"
)

// A stage is a schedule on virtual time. It writes down what is done to it, with the second at which it was done.
type stage struct {
	t     *testing.T
	clock history.Clock
	begun time.Time

	mu      sync.Mutex
	did     []string
	journal []history.Event
	force   []string
	heals   map[string]int
}

func newStage(t *testing.T) *stage {
	return &stage{t: t, clock: history.NewClock(), begun: time.Now(), heals: map[string]int{}}
}

// Record implements [Journal].
func (s *stage) Record(e history.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.journal = append(s.journal, e)
	return nil
}

func (s *stage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, fmt.Sprintf("%gs ", time.Since(s.begun).Seconds())+fmt.Sprintf(format, args...))
}

// A fake is a fault that takes a second for each of its parts, and fails where the test asks for it.
type fake struct {
	*stage
	id    string
	fails map[string]bool // choose, inject, inject with harm, verify, heal, heal-verify, and once for any of them
}

var errFake = errors.New("as told")

func (f fake) part(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		f.note("%s %s: %v", f.id, name, err)
		return err
	}
	f.note("%s %s", f.id, name)
	if err := waitUntil(ctx, time.Now().Add(time.Second)); err != nil {
		f.note("%s %s: %v", f.id, name, err)
		return err
	}
	if f.fails[name] {
		if f.fails["once"] {
			delete(f.fails, name)
		}
		return errFake
	}
	return nil
}

func (f fake) Inject(ctx context.Context) (*Harm, error) {
	err := f.part(ctx, "inject")
	if err != nil && !f.fails["with harm"] {
		return nil, err
	}
	return &Harm{At: f.clock.Now(), Hosts: []string{"host-" + f.id},
		Verify: func(ctx context.Context) error { return f.part(ctx, "verify") },
		Heal: func(ctx context.Context) (int64, error) {
			f.mu.Lock()
			f.heals[f.id]++
			f.mu.Unlock()
			err := f.part(ctx, "heal")
			return f.clock.Now(), err
		},
		VerifyHealed: func(ctx context.Context) error { return f.part(ctx, "heal-verify") }}, err
}

// step returns a fake fault at a time, held for a while.
func (s *stage) step(id string, at, hold time.Duration, fails ...string) Step {
	f := fake{stage: s, id: id, fails: map[string]bool{}}
	for _, name := range fails {
		f.fails[name] = true
	}
	return Step{
		ID:    id,
		Kind:  "fake",
		At:    at,
		Until: holdFor(s.clock, hold),
		Injector: func(context.Context) (Injector, error) {
			if f.fails["choose"] {
				return nil, errFake
			}
			return f, nil
		},
	}
}

func (s *stage) run(ctx context.Context, steps ...Step) error {
	sched := Schedule{Steps: steps, Journal: s, Clock: s.clock, InForce: func(names []string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.force = append(s.force, fmt.Sprint(names))
	}}
	return sched.Run(ctx, s.begun)
}

// expect compares what was done. The order of what happens at one instant does not matter.
func (s *stage) expect(want ...string) {
	s.t.Helper()
	slices.SortStableFunc(s.did, func(a, b string) int {
		at, as, _ := strings.Cut(a, "s ")
		bt, bs, _ := strings.Cut(b, "s ")
		if at != bt {
			return 0
		}
		return strings.Compare(as, bs)
	})
	if diff := cmp.Diff(want, s.did); diff != "" {
		s.t.Errorf("what was done (-want +got):\n%s", diff)
	}
}

// told renders the journal's events of one fault.
func (s *stage) told(id string) string {
	var all []string
	for _, e := range s.journal {
		if e.Fault == id {
			all = append(all, strings.TrimPrefix(string(e.Op), "fault-")+":"+e.Kind.String())
			if e.Mode != "fake" {
				s.t.Errorf("event without its kind of fault: %v", e)
			}
		}
	}
	return strings.Join(all, " ")
}

const complete = "inject:invoke inject:ok verify:ok heal:ok heal-verify:ok"

func TestAScheduleOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		// The steps are out of order, and the second one lies within the first.
		err := s.run(t.Context(), s.step("f2", 15*time.Second, 5*time.Second), s.step("f1", 10*time.Second, 20*time.Second))
		if err != nil {
			t.Error(err)
		}
		// A fault is held from the end of its injection: f1 from 11 s, f2 from 16 s.
		s.expect("10s f1 inject", "11s f1 verify", "15s f2 inject", "16s f2 verify", "21s f2 heal",
			"22s f2 heal-verify", "31s f1 heal", "32s f1 heal-verify")
		for _, id := range []string{"f1", "f2"} {
			if got := s.told(id); got != complete {
				t.Errorf("journal of %s: %s", id, got)
			}
		}
		want := []string{"[fake host-f1]", "[fake host-f1 fake host-f2]", "[fake host-f1]", "[]"}
		if diff := cmp.Diff(want, s.force); diff != "" {
			t.Errorf("in force (-want +got):\n%s", diff)
		}
	})
}

// A fault that waits for another begins when that one is over: healed, or not injected at all. An interrupt ends the
// wait.
func TestAFaultAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		after := func(before string, step Step) Step {
			step.After = before
			return step
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(20*time.Second, cancel)
		err := s.run(ctx, s.step("f1", time.Second, 5*time.Second), after("f1", s.step("f2", 0, time.Second, "inject")),
			after("f2", s.step("f3", 0, time.Hour)), after("f3", s.step("f4", 0, time.Second)))
		if !errors.Is(err, errFake) {
			t.Error(err)
		}
		s.expect("1s f1 inject", "2s f1 verify", "7s f1 heal", "8s f1 heal-verify",
			"9s f2 inject",
			"10s f3 inject", "11s f3 verify", "20s f3 heal", "21s f3 heal-verify")
	})
}

// The stamps are the agent's for what an agent did, and the events name the hosts that were struck.
func TestTheJournalHasTimesAndHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		base := s.clock.Now()
		if err := s.run(t.Context(), s.step("f1", time.Second, 3*time.Second)); err != nil {
			t.Error(err)
		}
		for op, second := range map[history.Op]int64{history.OpFaultInject: 2, history.OpFaultHeal: 6} {
			for _, e := range s.journal {
				if e.Op == op && e.Kind == history.OK && (e.At != base+second*1e9 || e.Target != "host-f1") {
					t.Errorf("%v, want it at %d s", e, second)
				}
			}
		}
	})
}

func TestAnInterruptHealsWhatIsInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(12*time.Second, cancel)
		err := s.run(ctx, s.step("held", 2*time.Second, time.Hour), s.step("never", 20*time.Second, time.Second),
			// The window ends in the middle of its injection and of its verification. A verification goes on after that.
			s.step("injecting", 11500*time.Millisecond, time.Second), s.step("verifying", 10500*time.Millisecond, time.Second))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the parts that were interrupted are not reported: %v", err)
		}
		s.expect("2s held inject", "3s held verify", "10.5s verifying inject", "11.5s injecting inject",
			"11.5s verifying verify", "12s held heal", "12s injecting inject: context canceled", "12.5s verifying heal",
			"13s held heal-verify", "13.5s verifying heal-verify")
		for id, want := range map[string]int{"held": 1, "verifying": 1, "injecting": 0, "never": 0} {
			if s.heals[id] != want {
				t.Errorf("%s was healed %d times, want %d", id, s.heals[id], want)
			}
		}
		for id, want := range map[string]string{"held": complete, "never": "", "injecting": "inject:invoke inject:fail",
			"verifying": complete} {
			if got := s.told(id); got != want {
				t.Errorf("journal of %s: %s", id, got)
			}
		}
	})
}

func TestFailuresKeepToThemselves(t *testing.T) {
	for fails, want := range map[string]struct {
		journal string
		heals   int
	}{
		"choose":           {"inject:invoke inject:fail", 0},
		"inject":           {"inject:invoke inject:fail", 0},
		"inject,with harm": {"inject:invoke inject:fail heal:ok heal-verify:ok", 1},
		"verify":           {"inject:invoke inject:ok verify:fail heal:ok heal-verify:ok", 1},
		"heal":             {"inject:invoke inject:ok verify:ok heal:fail heal:fail", 2},
		"heal,once":        {"inject:invoke inject:ok verify:ok heal:fail heal:ok heal-verify:ok", 2},
		"heal-verify":      {"inject:invoke inject:ok verify:ok heal:ok heal-verify:fail heal:ok heal-verify:fail", 2},
		"":                 {complete, 1},
	} {
		t.Run(fails, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				err := s.run(t.Context(), s.step("bad", time.Second, 5*time.Second, strings.Split(fails, ",")...),
					s.step("good", 3*time.Second, 5*time.Second))
				if (fails != "") != errors.Is(err, errFake) || fails != "" && !strings.Contains(err.Error(), "fault bad") {
					t.Errorf("error: %v", err)
				}
				if got := s.told("bad"); got != want.journal || s.heals["bad"] != want.heals {
					t.Errorf("journal %q, %d heals; want %q, %d", got, s.heals["bad"], want.journal, want.heals)
				}
				if got := s.told("good"); got != complete || s.heals["good"] != 1 {
					t.Errorf("the other fault: %s, %d heals", got, s.heals["good"])
				}
				if last := s.force[len(s.force)-1]; last != "[]" {
					t.Errorf("in force at the end: %s", last)
				}
			})
		})
	}
}

// A part that hangs is given up, and the harm is healed all the same.
func TestPartsThatHangAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		step := s.step("f1", 0, 0)
		healed := 0
		step.Injector = func(context.Context) (Injector, error) {
			return faultFunc(func(context.Context) (*Harm, error) {
				return &Harm{At: s.clock.Now(), Verify: hang, VerifyHealed: hang,
					Heal: func(ctx context.Context) (int64, error) { healed++; return 0, hang(ctx) }}, nil
			}), nil
		}
		err := s.run(t.Context(), step)
		if !errors.Is(err, context.DeadlineExceeded) || healed != 2 {
			t.Errorf("%v, %d heals", err, healed)
		}
		if got := time.Since(s.begun); got != verifyCap+2*healCap {
			t.Errorf("took %v", got)
		}
	})
}

// hangs returns a fault that begins at once and is healed at once, and whose effect is never over.
func (s *stage) hangs(id string) Step {
	step := s.step(id, 0, 0)
	step.Injector = func(context.Context) (Injector, error) {
		return faultFunc(func(context.Context) (*Harm, error) {
			return &Harm{At: s.clock.Now(), Verify: func(context.Context) error { return nil },
				VerifyHealed: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
				Heal:         func(context.Context) (int64, error) { return s.clock.Now(), nil }}, nil
		}), nil
	}
	return step
}

// An ensemble that never recovers from several faults is given up after the time for one.
func TestRecoveriesAreAwaitedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		err := s.run(t.Context(), s.hangs("f1"), s.hangs("f2"), s.hangs("f3"))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if got := time.Since(s.begun); got != 2*healedCap {
			t.Errorf("took %v, want %v", got, 2*healedCap)
		}
	})
}

// After an interrupt no effect that does not show holds up the end.
func TestAnInterruptEndsAVerification(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		ctx, interrupt := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, interrupt)
		step := s.step("f1", 0, time.Hour)
		step.Injector = func(context.Context) (Injector, error) {
			return faultFunc(func(context.Context) (*Harm, error) {
				return &Harm{At: s.clock.Now(), Verify: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
					VerifyHealed: func(context.Context) error { return nil },
					Heal:         func(context.Context) (int64, error) { return s.clock.Now(), nil }}, nil
			}), nil
		}
		sched := Schedule{Steps: []Step{step}, Journal: s, Clock: s.clock, Interrupted: ctx.Done()}
		err := sched.Run(ctx, s.begun)
		if got := s.told("f1"); err == nil || got != "inject:invoke inject:ok verify:fail heal:ok heal-verify:ok" {
			t.Errorf("journal %s, %v", got, err)
		}
		if got := time.Since(s.begun); got != time.Second+HurriedCap {
			t.Errorf("took %v", got)
		}
	})
}

// After an interrupt no recovery holds up the end, whether it is waited for already or not yet.
func TestAnInterruptedScheduleHurries(t *testing.T) {
	for _, after := range []time.Duration{0, 20 * time.Second, healedCap + time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			ctx, interrupt := context.WithCancel(t.Context())
			time.AfterFunc(after, interrupt)
			sched := Schedule{Steps: []Step{s.hangs("f1"), s.hangs("f2")}, Journal: s, Clock: s.clock, Interrupted: ctx.Done()}
			if err := sched.Run(t.Context(), s.begun); err == nil {
				t.Error("a recovery that was not seen is not reported")
			}
			if got := time.Since(s.begun); got > after+2*HurriedCap {
				t.Errorf("interrupted after %v, it took %v", after, got)
			}
		})
	}
}

type faultFunc func(context.Context) (*Harm, error)

func (f faultFunc) Inject(ctx context.Context) (*Harm, error) { return f(ctx) }

// An event that cannot be recorded is reported, and stops nothing.
func TestAJournalThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		sched := Schedule{Steps: []Step{s.step("f1", 0, time.Second)}, Journal: brokenJournal{}, Clock: s.clock}
		if err := sched.Run(t.Context(), s.begun); !errors.Is(err, errFake) {
			t.Error(err)
		}
		if s.heals["f1"] != 1 {
			t.Errorf("%d heals", s.heals["f1"])
		}
	})
}

type brokenJournal struct{}

func (brokenJournal) Record(history.Event) error { return errFake }

// momentary returns a fault that is over at once, and whose consequences pass within a second.
func (s *stage) momentary(id string) Injector {
	f := fake{stage: s, id: id}
	return faultFunc(func(ctx context.Context) (*Harm, error) {
		if err := f.part(ctx, "inject"); err != nil {
			return nil, err
		}
		return &Harm{At: s.clock.Now(), Hosts: []string{"host-" + id},
			Verify:       func(ctx context.Context) error { return f.part(ctx, "verify") },
			VerifyHealed: func(ctx context.Context) error { return f.part(ctx, "heal-verify") }}, nil
	})
}

// A fault that is over at once is not held, and counts as healed at the time when it was done.
func TestMomentaryFaultsAreNotHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		base := s.clock.Now()
		step := Step{
			ID:       "f1",
			Kind:     "fake",
			At:       5 * time.Second,
			Injector: func(context.Context) (Injector, error) { return s.momentary("f1"), nil },
		}
		if err := s.run(t.Context(), step); err != nil {
			t.Error(err)
		}
		s.expect("5s f1 inject", "6s f1 verify", "7s f1 heal-verify")
		if got := s.told("f1"); got != complete {
			t.Errorf("journal: %s", got)
		}
		for _, e := range s.journal {
			if e.Op == history.OpFaultHeal && e.At != base+6e9 {
				t.Errorf("%v, want it at 6 s", e)
			}
		}
	})
}

// A fault that cannot be injected here is told apart from one that failed.
func TestUnsupportedFaultsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		lacks := fmt.Errorf("%w: no such thing", ErrUnsupported)
		choosing := Step{ID: "f1", Kind: "fake", Injector: func(context.Context) (Injector, error) { return nil, lacks }}
		injecting := Step{ID: "f2", Kind: "fake", Injector: func(context.Context) (Injector, error) {
			return faultFunc(func(context.Context) (*Harm, error) { return nil, lacks }), nil
		}}
		if err := s.run(t.Context(), choosing, injecting); !errors.Is(err, ErrUnsupported) {
			t.Error(err)
		}
		for _, id := range []string{"f1", "f2"} {
			if got, want := s.told(id), "inject:invoke unsupported:fail"; got != want {
				t.Errorf("journal of %s: %q, want %q", id, got, want)
			}
		}
	})
}
