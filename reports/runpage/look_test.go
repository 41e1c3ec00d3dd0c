package runpage

import (
	"os"
	"path/filepath"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/scenario"
	"locklab/reports/internal/synth"
	"locklab/reports/result"
	"locklab/workloads"
)

// TestLook writes whole reports of the synthetic runs for a person to look at: LOOK=DIR go test -run TestLook
// ./reports.
func TestLook(t *testing.T) {
	dir := os.Getenv("LOOK")
	if dir == "" {
		t.Skip("LOOK names no directory")
	}
	long := synth.Busy(64, 900, false)
	for name, in := range map[string]result.Input{"long": Input(synth.RunOf(long,
		scenario.Scenario{Name: "long", Load: workloads.Load{Arrivals: workloads.Closed}}),
		evidence.Facts{Exclusive: true, Tokens: true}), "storm": Input(synth.StormRun()),
		"unlocked": Input(synth.UnlockedRun()), "act2": Input(synth.Act2Run(false)),
		"fenced": Input(synth.Act2Run(true)), "read-write": Input(synth.ReadWriteRun()),
		"semaphore": Input(synth.SemaphoreRun()), "busy": Input(synth.BusyRun(64, 20, true)),
		"calm": Input(synth.BusyRun(12, 4, false))} {
		d := filepath.Join(dir, name)
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := Render(d, in); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %s", name, in.Result.Headline)
	}
}
