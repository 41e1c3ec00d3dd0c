package settings

import (
	"slices"
	"testing"
)

func TestNearestPath(t *testing.T) {
	known := []string{"acquired_per_s", "acquire.p50", "acquire.p99", "handoff.p50", "handoff.p99", "hold.p99",
		"release.p99", "server.requests"}
	for _, c := range []struct {
		word string
		want []string
	}{
		{"p99", []string{"acquire.p99", "handoff.p99", "hold.p99", "release.p99"}},
		{"handoff", []string{"handoff.p50", "handoff.p99"}},
		{"handof", []string{"handoff.p50", "handoff.p99"}},
		{"aquire.p99", []string{"acquire.p99"}},
		{"requests", []string{"server.requests"}},
		{"throughput", nil},
		{"", nil},
	} {
		if got := NearestPath(c.word, known); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.word, got, c.want)
		}
	}
}
