package check

import (
	"testing"
	"time"

	"locklab/harness/check/evidence"
)

// The band is the one that the reference states: 2/3 T to T + 1.5 ticks.
func TestExpiryBand(t *testing.T) {
	e := evidence.Expiry{Timeout: 6 * time.Second, Tick: 2 * time.Second}
	if lo, hi := e.Earliest(), e.Latest(); lo != 4*time.Second || hi != 9*time.Second {
		t.Errorf("%s to %s, want 4s to 9s", lo, hi)
	}
	if ping, report := e.PingEvery(), e.ReportEvery(); ping != 2*time.Second || report != time.Second {
		t.Errorf("ping every %s and report every %s, want 2s and 1s", ping, report)
	}
}
