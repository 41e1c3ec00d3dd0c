package scenario_test

import (
	"testing"
	"time"

	"locklab/harness/scenario"
)

// A round trip of 0 is not the same as none, and fits every schedule without latencies.
func TestDistance(t *testing.T) {
	for src, want := range map[string]scenario.RoundTrip{
		"{}":                                     {},
		"round-trip: 0":                          {Relayed: true},
		"session-timeout: 2s\nround-trip: 200ms": {Relayed: true, Added: 200 * time.Millisecond},
		"schedule: swarm\nfault-kinds: pause:3,partition\nround-trip: 50ms": {Relayed: true, Added: 50 * time.Millisecond},
	} {
		s := mustLoad(t, src)
		if err := s.Validate(); err != nil || s.RoundTrip != want {
			t.Errorf("%q: %+v, %v", src, s.RoundTrip, err)
		}
	}
	s := mustLoad(t, "round-trip: 2ms")
	if err := s.Set("round-trip", ""); err != nil || s.RoundTrip.Relayed {
		t.Errorf("a flag cannot take it back: %+v, %v", s.RoundTrip, err)
	}
	if d := s.Differences(mustLoad(t, "round-trip: 0")); len(d) != 1 || d[0] != "round-trip" {
		t.Errorf("with and without relays differ in %v", d)
	}
}
