package sweep

import (
	"strings"
	"testing"
)

// The resource that is named was measured to be used up at the lowest load at which one was. If the numbers do not
// tell, none is named.
func TestRanOut(t *testing.T) {
	// used is what was used of client and server processors of 2, of fsync, of hand-off, and of the lock.
	used := func(client, server, least, most, handoff, held float64) loaded {
		return loaded{at: "clients 8", medians: map[string]float64{"processors": 2, "load_processors": client,
			"server_processors": server, "fsync_share_least": least, "fsync_share_most": most, "handoff_share": handoff,
			"held_share": held}}
	}
	without := func(l loaded, names ...string) loaded {
		for _, name := range names {
			delete(l.medians, name)
		}
		return l
	}
	idle := func() loaded { l := used(0.1, 0.2, 0, 0.1, 0.1, 0.1); l.at = "clients 1"; return l }
	struck := used(0.1, 0.2, 0, 0.1, 0.2, 0.8)
	struck.struck = true
	late := used(0.1, 0.2, 0, 0.1, 0.7, 0.3)
	late.medians["hiccups.p99"] = 9e6
	for _, c := range []struct {
		name     string
		loads    []loaded
		resource string
		says     []string
	}{
		{"holds", []loaded{idle(), used(0.1, 0.2, 0, 0.1, 0.2, 0.8)}, TheLock,
			[]string{"hand-off 20 % of the time, the lock itself 80 %", "load side CPU 0.1 of 2 processors",
				"fsync 0 % to 10 %"}},
		{"hand-offs", []loaded{idle(), used(0.1, 0.2, 0, 0.1, 0.9, 0.1)}, HandOff, []string{"hand-off 90 % of the time"}},
		{"the first that was full", []loaded{used(0.1, 0.2, 0, 0.1, 0.1, 0.9), used(1.5, 0.5, 0, 0.1, 0.1, 0.1)},
			TheLock, nil},
		{"clients", []loaded{idle(), used(1.2, 0.7, 0, 0.1, 0.3, 0.2)}, LoadCPU, []string{"load side CPU 1.2 of 2"}},
		{"servers", []loaded{idle(), used(0.7, 1.2, 0, 0.1, 0.3, 0.2)}, ServerCPU, nil},
		{"fsync", []loaded{idle(), used(0.1, 0.2, 0.92, 1, 0.3, 0.2)}, Fsync, []string{"fsync 92 % to 100 % of the time"}},
		{"hand-offs that late sleeps may have slowed", []loaded{late}, HandOff, []string{"sleeps came late by 9 ms"}},
		{"hand-offs of servers elsewhere",
			[]loaded{without(used(0.1, 0, 0, 0, 0.9, 0.1), "server_processors", "fsync_share_least", "fsync_share_most")},
			HandOff, []string{"server CPU not measured", "whether server CPU or fsync was used up too is not known"}},
		{"hand-offs and fsync that is not known", []loaded{used(0.1, 0.2, 0.3, 1, 0.9, 0.1)}, HandOff,
			[]string{"whether fsync was used up too is not known"}},
		{"two at once", []loaded{idle(), used(0.9, 1.1, 0, 0.1, 0.8, 0.2)}, "",
			[]string{"cannot be told: server CPU and hand-off were used up at the same load ("}},
		{"two at once, at the lowest load", []loaded{used(0.9, 1.1, 0, 0.1, 0.8, 0.2)}, "", []string{"the lowest that was"}},
		{"nothing", []loaded{idle()}, "", []string{"nothing was used up (load side CPU 0.1 of 2"}},
		{"nothing that was measured", []loaded{without(idle(), "server_processors")}, "",
			[]string{"cannot be told: server CPU not measured, and none of the others was used up"}},
		{"nothing for sure", []loaded{used(0.1, 0.2, 0.3, 1, 0.1, 0.1)}, "",
			[]string{"cannot be told: fsync was not measured exactly enough"}},
		{"faults", []loaded{idle(), struck}, "", []string{"cannot be told, because faults struck"}},
	} {
		r := ranOut(c.loads)
		if r == nil || r.Resource != c.resource {
			t.Errorf("%s: %+v, want %q", c.name, r, c.resource)
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(r.Why, want) {
				t.Errorf("%s: no %q in %q", c.name, want, r.Why)
			}
		}
	}
	if r := ranOut(nil); r != nil {
		t.Errorf("of nothing: %+v", r)
	}
}
