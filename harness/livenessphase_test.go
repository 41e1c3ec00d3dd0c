package harness

import (
	"context"
	"slices"
	"testing"
	"time"

	"locklab/harness/history"
	"locklab/harness/scenario"
)

// Without faults clients work on for as long as the scenario says, and what waits for them to end knows until when: it
// would wait for ever for one that hangs. That is known from the beginning, whether the run is interrupted or not.
func TestWorkOnWithoutFaults(t *testing.T) {
	const liveness = time.Hour
	for _, interrupted := range []bool{false, true} {
		dir := t.TempDir()
		s := &Stage{clock: history.NewClock()}
		rec, err := history.NewRecorder(dir, harnessHost, s.clock)
		if err != nil {
			t.Fatal(err)
		}
		r := &run{stage: s, sc: &scenario.Scenario{Liveness: liveness}, live: newLive(), rec: rec}
		r.report = newReporter(r.live, nil)
		ctx, cancel := context.WithCancel(t.Context())
		end := s.clock.Now() - int64(liveness) // that time is over already
		if interrupted {
			end += int64(liveness)
			cancel()
		}
		last, ok, err := r.workOn(ctx, end, nil)
		cancel()
		if err != nil || ok == interrupted || ok && last != end+int64(liveness) {
			t.Errorf("interrupted %t: %d, %t, %v", interrupted, last, ok, err)
		}
		if r.live.closes != end+int64(liveness) {
			t.Errorf("interrupted %t: the window closes at %d, want %d", interrupted, r.live.closes, end+int64(liveness))
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		tail := history.NewTailer(dir)
		b, err := tail.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := tail.Close(); err != nil {
			t.Error(err)
		}
		events, _, err := history.Decode(nil, b, map[string]string{})
		if err != nil || !slices.ContainsFunc(events, func(e history.Event) bool {
			return e.Op == history.OpPhase && e.Detail == history.PhaseLiveness && e.At == end
		}) {
			t.Errorf("recorded %v, %v", events, err)
		}
	}
}
