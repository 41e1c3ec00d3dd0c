package scenario_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"locklab/chaos"
	"locklab/harness/scenario"
)

var builtins = os.DirFS("../../workloads/scenarios")

var ignoreOrigins = cmpopts.IgnoreUnexported(scenario.Scenario{})

func TestBuiltins(t *testing.T) {
	list, err := scenario.Builtins(builtins)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range list {
		names = append(names, s.Name)
		t.Run(s.Name, func(t *testing.T) {
			if err := s.Validate(); err != nil {
				t.Error(err)
			}
			if w := s.Warnings(); len(w) > 0 {
				t.Errorf("warnings: %q", w)
			}
			if !strings.HasSuffix(s.About, "?") {
				t.Errorf("about asks no question: %q", s.About)
			}
			if s.HasFaults() && len(s.Sometimes) == 0 {
				t.Error("breaks something, and passes where nothing dangerous happens (sometimes)")
			}
			if s.Answers == "" {
				t.Error("answers no reader's question")
			}
			reread, err := scenario.Load("reread.yaml", s.Marshal())
			if err != nil {
				t.Fatalf("%v in\n%s", err, s.Marshal())
			}
			if diff := cmp.Diff(s, reread, ignoreOrigins, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("round trip (-want +got):\n%s", diff)
			}
		})
	}
	want := []string{
		"curator-downgrade",
		"failover-holder",
		"failover-leader",
		"failover-leader-partition",
		"failover-rolling-restart",
		"followers-slow-disk",
		"hot-locks",
		"impatient",
		"isolated-follower",
		"isolated-follower-lease-clock",
		"jitter",
		"leader-failover",
		"mixed-curator",
		"mixed-curator-rw",
		"mixed-curator-semaphore",
		"multi-lock",
		"mutex",
		"mutex-1000",
		"mutex-calm",
		"mutex-client-partition",
		"mutex-client-partition-lease-clock",
		"mutex-gate",
		"mutex-latency",
		"mutex-leader-partition",
		"mutex-pause",
		"mutex-pause-fencing",
		"mutex-pause-lease-clock",
		"mutex-pause-lease-clock-before-write",
		"mutex-pause-lost-context",
		"mutex-pause-zk-multi",
		"mutex-server-kill",
		"open-loop",
		"ramp",
		"read-write",
		"read-write-pause",
		"semaphore",
		"sessions-20000",
		"sessions-5000",
		"swarm",
		"zk-lock-own-node",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// The acts of the demo differ only in the keys that they are about.
func TestDemoActsAreComparable(t *testing.T) {
	load := func(name string) *scenario.Scenario {
		s, err := scenario.Builtin(builtins, name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	result := cmpopts.IgnoreFields(scenario.Scenario{}, "Name", "About", "Expect", "Shown", "Sometimes")
	pause := load("mutex-pause")
	for name, but := range map[string]cmp.Option{
		"mutex-calm":               cmpopts.IgnoreFields(scenario.Scenario{}, "Duration", "Faults"),
		"mutex-pause-fencing":      cmpopts.IgnoreFields(scenario.Scenario{}, "Guard"),
		"mutex-pause-lost-context": cmpopts.IgnoreFields(scenario.Scenario{}, "Guard"),
		"mutex-pause-zk-multi":     cmpopts.IgnoreFields(scenario.Scenario{}, "Guard"),
		// Its outcome does not depend on chance, so one pause is enough. It comes before the question instead of after it.
		"mutex-pause-lease-clock": cmpopts.IgnoreFields(scenario.Scenario{}, "Guard", "Faults", "Duration"),
		"mutex-pause-lease-clock-before-write": cmp.Options{cmpopts.IgnoreFields(scenario.Scenario{}, "Guard", "Duration"),
			cmpopts.IgnoreFields(chaos.Fault{}, "Repeat")},
	} {
		if diff := cmp.Diff(pause, load(name), ignoreOrigins, result, but); diff != "" {
			t.Errorf("%s against mutex-pause:\n%s", name, diff)
		}
	}
	if want, got := []int{1, 3}, pause.ClientsPerProcess(); !cmp.Equal(want, got) {
		t.Errorf("clients per process %d, want %d", got, want)
	}
}

func TestUnknownBuiltin(t *testing.T) {
	for name, hint := range map[string]string{
		"mutex-puase": "did you mean mutex-pause?",
		"mutx":        "did you mean mutex?",
		"deadlock":    "see locklab scenarios list",
	} {
		_, err := scenario.Builtin(builtins, name)
		e, ok := errors.AsType[*scenario.InputError](err)
		if !ok || !strings.Contains(e.Msg, `"`+name+`"`) || !strings.HasPrefix(e.Hint, hint) {
			t.Errorf("%s: %v, want an InputError with hint %q", name, err, hint)
		}
	}
}
