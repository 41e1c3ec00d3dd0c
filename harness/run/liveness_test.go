package run

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"locklab/chaos"
	"locklab/harness/check/evidence"
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
	needed, allowed := int64(evidence.StallBound(sc.Negotiated(), sc.Tick)+stallMargin), int64(sc.LivenessPhase())
	for _, c := range []struct {
		name        string
		hiccup      time.Duration
		told        time.Duration // when the view hears of it, after now
		fault       int64         // how long ago the last fault was
		least, most int64         // how long awaitProgress takes
	}{
		{"none", 0, 0, needed, 0, int64(sc.Tick)},
		{"a hiccup is no standstill", sc.Tick - 1, 0, needed, 0, int64(sc.Tick)},
		{"a standstill", sc.Tick, 0, needed, needed, needed + int64(sc.Tick)},
		{"a standstill that began before the time was over", sc.Tick, sc.Tick - 1, needed, needed, allowed},
		{"one long after the heal", sc.Tick, 0, allowed, needed, needed + int64(sc.Tick)},
		{"no longer than is reasonable", sc.Tick, 0, patience * allowed, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := history.NewClock()
				view := watch.NewView(watch.Config{Clock: clock, Standstill: evidence.Standstill(sc.Tick)})
				r := &run{stage: &Stage{clock: clock}, view: view, sc: sc,
					plan: chaos.Plan{Steps: make([]chaos.PlannedFault, 1)}}
				now := clock.Now()
				if c.hiccup > 0 {
					time.AfterFunc(c.told, func() { view.Hear(history.HiccupOf(clock.Now(), c.hiccup)) })
					if c.told == 0 {
						synctest.Wait()
					}
				}
				begun := now - c.fault
				r.awaitProgress(t.Context(), recovery{lastFault: begun, healed: begun})
				if took := clock.Now() - now; took < c.least || took > c.most {
					t.Errorf("returned after %v", time.Duration(took))
				}
			})
		})
	}
}
