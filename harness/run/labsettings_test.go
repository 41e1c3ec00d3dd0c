package run

import (
	"strings"
	"testing"

	"locklab/chaos"
	"locklab/harness/scenario"
	"locklab/workloads"
)

// Scenarios share a lab if and only if they differ in nothing but what clients do. Sweeps order their runs by that,
// and demos and benchmarks open labs by it.
func TestSharesLab(t *testing.T) {
	with := func(settings string) *scenario.Scenario {
		t.Helper()
		sc, err := scenario.Builtin(workloads.Builtin, "mutex")
		if err != nil {
			t.Fatal(err)
		}
		for s := range strings.FieldsSeq(settings) {
			key, value, _ := strings.Cut(s, "=")
			if err := sc.Set(key, value); err != nil {
				t.Fatal(err)
			}
		}
		return sc
	}
	clock := chaos.Fault{Kind: "clock-step"}
	faulty := with("")
	faulty.Faults = []chaos.Fault{clock}
	upgraded := with("")
	upgrade, err := chaos.ParseFault(map[string]string{"kind": "upgrade", "target": "all", "to": "zookeeper:3.9"})
	if err != nil {
		t.Fatal(err)
	}
	upgraded.Faults = []chaos.Fault{upgrade}
	for _, c := range []struct {
		name     string
		made, sc *scenario.Scenario
		want     bool
	}{
		{"the same", with(""), with(""), true},
		{"other clients", with("clients=8"), with("clients=200 seed=7 hold=5ms duration=1s"), true},
		{"another recipe", with(""), with("recipe=naive-mutex"), true},
		{"another session timeout", with("session-timeout=1s"), with("session-timeout=4s"), true},
		{"fewer hosts", with("client-processes=4"), with("client-processes=2"), true},
		{"more hosts", with("client-processes=2"), with("client-processes=4"), false},
		{"servers", with("servers=1"), with("servers=3"), false},
		{"storage", with("storage=disk"), with("storage=tmpfs"), false},
		{"tick", with("tick=200ms"), with("tick=300ms"), false},
		{"limits", with(""), with("max-session-timeout=30s"), false},
		{"heap", with(""), with("heap=300MiB"), false},
		{"JVM", with(""), with("jvm=production"), false},
		{"a foreign recipe", with(""), with("recipe=curator-mutex"), false},
		{"the same foreign recipe", with("recipe=curator-mutex clients=8"), with("recipe=curator-mutex"), true},
		{"of other hosts", with("recipe=curator-mutex client-processes=4"),
			with("recipe=curator-mutex client-processes=2"), false},
		{"a server's clock", with(""), faulty, false},
		{"a version", with(""), with("zookeeper=zookeeper:3.9"), false},
		{"an upgrade, once", upgraded, upgraded, false},
		{"and before", with(""), upgraded, false},
	} {
		if got := sharesLab(c.made, c.sc, nil); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
		if !c.sc.Upgrades() && c.made.ClientProcesses == c.sc.ClientProcesses &&
			c.want != (LabSettings(c.made, nil) == LabSettings(c.sc, nil)) {
			t.Errorf("%s: a sweep orders its runs otherwise", c.name)
		}
	}
}
