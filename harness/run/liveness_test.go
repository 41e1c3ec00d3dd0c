package run

import (
	"context"
	"slices"
	"testing"
	"time"

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
