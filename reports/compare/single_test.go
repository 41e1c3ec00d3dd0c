package compare

import (
	"testing"

	"locklab/reports/result"
)

// Two runs differ by a ratio or a difference, and in a direction only where numbers are compared at all and by more
// than the least loss that counts.
func TestDiffer(t *testing.T) {
	v := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name       string
		base, head *float64
		want       Difference
	}{
		{"acquired_per_s", v(100), v(80), Difference{Text: "×0.8", Worse: true}},
		{"acquired_per_s", v(100), v(97), Difference{Text: "×0.97"}},
		{"acquired_per_s", v(100), v(150), Difference{Text: "×1.5", Better: true}},
		{"acquire.p50", v(1e6), v(2e6), Difference{Text: "×2", Worse: true}},
		{"acquire.p50", v(2e6), v(1e6), Difference{Text: "×0.5", Better: true}},
		{"acquire.p50", v(10e3), v(20e3), Difference{Text: "×2"}}, // less than the clock's noise
		{"acquire.p50", v(10e3), v(10e3), Difference{Text: "the same"}},
		{"acquire.p50", v(1e6), nil, Difference{}},
		{"operations.not_acquired_share", v(0), v(0.1), Difference{Text: "+10 points", Worse: true}},
		{"lost_updates", v(0), v(3), Difference{Text: "+3"}},
		{"max_overlap", v(3e6), v(0), Difference{Text: "−3 ms"}},
	} {
		q, ok := result.Named(c.name)
		if !ok {
			t.Fatalf("no quantity %s", c.name)
		}
		if got := Differ(q, c.base, c.head); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
