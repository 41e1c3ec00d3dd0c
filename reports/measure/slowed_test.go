package measure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/history"
)

// The warning has the part of the waits that is in the measured window.
func TestSlowed(t *testing.T) {
	second := int64(time.Second)
	wait := func(process string, from, to int64) history.Event {
		e := history.SlowedFor(to*second, time.Duration((to-from)*second))
		e.Process = process
		return e
	}
	events := []history.Event{wait("c1", 0, 1), wait("c1", 1, 3), wait("c2", 4, 5), wait("c1", 8, 20), wait("c3", 12, 13)}
	w := Interval{From: 2 * second, Until: 12 * second, Measured: true}
	want := []string{
		"clients of c1 were kept waiting for 5 s of the measured 10 s, because their record grew faster than it could be " +
			"collected: the throughput is that of the recording, not of the lock",
		"clients of c2 were kept waiting for 1 s of the measured 10 s, because their record grew faster than it could be " +
			"collected: the throughput is that of the recording, not of the lock",
	}
	if d := cmp.Diff(want, Slowed(history.NewLog(events), w)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if got := Slowed(nil, w); got != nil {
		t.Errorf("without a wait: %q", got)
	}
}
