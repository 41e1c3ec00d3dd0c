package reports

import (
	"os"
	"path/filepath"
	"testing"

	"locklab/harness/check"
)

// TestLook writes whole reports of the synthetic runs for a person to look at:
// LOOK=DIR go test -run TestLook ./reports.
func TestLook(t *testing.T) {
	dir := os.Getenv("LOOK")
	if dir == "" {
		t.Skip("LOOK names no directory")
	}
	long := busy(64, 900, false)
	for name, in := range map[string]Input{"long": input(long, check.Facts{Exclusive: true, Tokens: true}, Meta{Scenario: "long"}), "storm": stormInput(), "unlocked": unlockedInput(), "act2": act2Input(false), "fenced": act2Input(true), "read-write": readWriteInput(), "semaphore": semaphoreInput(), "busy": busyInput(64, 20, true), "calm": busyInput(12, 4, false)} {
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
