package run

import (
	"testing"

	"go.uber.org/goleak"
)

// Tests that need an ensemble of their own, and look at nothing outside its lab, are parallel, because they wait most
// of the time. Those that look at the whole machine, for what a killed harness left behind, run before them, one at a
// time.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
