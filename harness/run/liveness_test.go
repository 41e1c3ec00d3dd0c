package run

import (
	"context"
	"slices"
	"testing"
	"time"

	"locklab/chaos"
	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/watch"
)

// Without faults, clients go on working for as long as the scenario says. The time when they end is known from the
// beginning, whether the run is interrupted or not, so that the run does not wait forever for a client that hangs.
func TestWorkOnWithoutFaults(t *testing.T) {
	const liveness = time.Hour
	for _, interrupted := range []bool{false, true} {
		dir := t.TempDir()
		s := &Stage{clock: history.NewClock()}
		rec, err := rundir.NewRecorder(dir, s.clock)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{
			stage: s,
			sc:    &scenario.Scenario{Liveness: scenario.Liveness(liveness)},
			view:  watch.NewView(watch.Config{}),
			rec:   rec,
		}
		r.report = watch.NewReporter(watch.ReporterConfig{View: r.view})
		ctx, cancel := context.WithCancel(t.Context())
		end := s.clock.Now() - int64(liveness) // that time is over already
		if interrupted {
			end += int64(liveness)
			cancel()
		}
		last, ok, err := r.livenessPhase(ctx, end, nil)
		cancel()
		if err != nil || ok == interrupted || ok && last != end+int64(liveness) {
			t.Errorf("interrupted %t: %d, %t, %v", interrupted, last, ok, err)
		}
		r.view.Look(func(now watch.State) {
			if now.Closes() != end+int64(liveness) {
				t.Errorf("interrupted %t: the window closes at %d, want %d", interrupted, now.Closes(), end+int64(liveness))
			}
		})
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		tail := history.NewTailer(rundir.HostDir(dir, rundir.HarnessHost))
		b, err := tail.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := tail.Close(); err != nil {
			t.Error(err)
		}
		events, _, err := history.Decode(nil, b, map[string]string{})
		if err != nil || !slices.ContainsFunc(events, func(e history.Event) bool {
			return e.Op == history.OpPhase && e.Phase() == history.PhaseLiveness && e.At == end
		}) {
			t.Errorf("recorded %v, %v", events, err)
		}
	}
}

// Clients go on working until the time that the check needs has passed without a standstill, but not for ever.
func TestStandstillsProlongTheWork(t *testing.T) {
	sc := load(t, "session-timeout: 100ms\ntick: 50ms\nfaults: [{kind: pause, target: c1, at: 1s, for: 1s}]\n")
	needed, allowed := int64(check.StallBound(sc.Negotiated(), sc.Tick)+stallMargin), int64(sc.LivenessPhase())
	clock := history.NewClock()
	for _, c := range []struct {
		name         string
		hiccup       time.Duration
		fault, least int64 // the last fault, and the least time until awaitProgress returns, before and after now
	}{
		{"none", 0, needed, 0},
		{"a hiccup is no standstill", sc.Tick - 1, needed, 0},
		{"a standstill", sc.Tick, needed, needed},
		{"one long after the heal", sc.Tick, allowed, needed},
		{"no longer than is reasonable", sc.Tick, patience * allowed, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			view := watch.NewView(watch.Config{Clock: clock, Standstill: check.Standstill(sc.Tick)})
			r := &run{stage: &Stage{clock: clock}, view: view, sc: sc,
				plan: chaos.Plan{Steps: make([]chaos.PlannedFault, 1)}}
			now := clock.Now()
			if c.hiccup > 0 {
				view.Hear(history.HiccupOf(now, c.hiccup))
			}
			begun := now - c.fault
			r.awaitProgress(t.Context(), recovery{lastFault: begun, healed: begun})
			if took := clock.Now() - now; took < c.least || c.least == 0 && took >= needed {
				t.Errorf("returned after %v", time.Duration(took))
			}
		})
	}
}
