package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"locklab/harness/scenario"
)

// What ends or stops a server is refused while another kind of fault has the server, whichever of them is first.
func TestNoKindEndsAnothersHarm(t *testing.T) {
	kinds := map[string]string{}
	for _, k := range scenario.FaultKinds() {
		if k.Targets&scenario.OnServer == 0 || scenario.SlotOf(k.Name) == "" {
			continue
		}
		var entry strings.Builder
		entry.WriteString("kind: " + k.Name)
		if !k.Momentary {
			entry.WriteString(", for: 6s")
		}
		for _, key := range k.Needs {
			if key != "by" {
				t.Fatalf("%s needs %s", k.Name, key)
			}
			entry.WriteString(", by: 1h")
		}
		kinds[k.Name] = entry.String()
	}
	for _, name := range []string{scenario.FaultPause, scenario.FaultKill, scenario.FaultStop, scenario.FaultRestart, scenario.FaultCrashLoop, scenario.FaultSlowDisk, scenario.FaultClockStep} {
		if kinds[name] == "" {
			t.Errorf("%s needs nothing of a server for itself", name)
		}
	}
	for a, first := range kinds {
		for b, second := range kinds {
			file := func(at, target string) string {
				return fmt.Sprintf("servers: 3\nduration: 60s\nfaults:\n- {%s, target: zk1, at: 2s}\n- {%s, target: %s, at: %s}\n", first, second, target, at)
			}
			for _, target := range []string{"zk1", "leader", "follower", "any"} {
				err := whyRefused(file("4s", target))
				if together := a == b && scenario.Shared(a); together != (err == nil) || err != nil && !strings.Contains(err.Error(), "overlaps with") {
					t.Errorf("%s under %s, of %s: %v", b, a, target, err)
				}
			}
			for _, file := range []string{file("4s", "zk2"), file("40s", "zk1")} {
				if err := whyRefused(file); err != nil {
					t.Errorf("%s beside %s: %v", b, a, err)
				}
			}
		}
	}
}
