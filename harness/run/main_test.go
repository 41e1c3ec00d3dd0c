package run

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Tests that need an ensemble of their own, and look at nothing outside its lab, are parallel, because they wait most
// of the time. Those that look at the whole machine, for what a killed harness left behind, run before them, one at a
// time.
//
// Some tests run this binary as a process of a host.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, ok := roles[os.Args[1]]; ok {
			if err := role(os.Args[2:]); err != nil {
				panic(err)
			}
			return
		}
	}
	goleak.VerifyTestMain(m)
}

var roles = map[string]func(args []string) error{"role-agent": roleAgent, "role-flood": roleFlood}
