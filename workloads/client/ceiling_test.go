package client

import (
	"context"
	"testing"
)

// The ceiling is measured with either kind of client, and ends with its context.
func TestCeiling(t *testing.T) {
	for _, recipe := range []string{"mutex", "zk-lock"} {
		if perS, err := Ceiling(t.Context(), recipe); err != nil || perS <= 0 {
			t.Errorf("%s: %v a second, %v", recipe, perS, err)
		}
	}
	if perS, err := Ceiling(t.Context(), "frob"); err == nil {
		t.Errorf("no recipe: %v a second", perS)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if perS, err := Ceiling(ctx, "mutex"); err == nil {
		t.Errorf("cancelled: %v a second", perS)
	}
}

// BenchmarkCeiling measures how many acquisitions a second a client process asks for at most: the load generator
// without the system.
func BenchmarkCeiling(b *testing.B) {
	for _, recipe := range []string{"mutex", "zk-lock"} {
		b.Run(recipe, func(b *testing.B) {
			most := 0.0
			for b.Loop() {
				perS, err := Ceiling(b.Context(), recipe)
				if err != nil {
					b.Fatal(err)
				}
				most = max(most, perS)
			}
			b.ReportMetric(most, "acquisitions/s")
		})
	}
}
