package compare

import (
	"testing"

	"locklab/reports/result"
)

// A run with too few acquisitions for its p99 is compared by its slowest. If it has fewer than half of those, it makes
// the comparison inconclusive, as a run does that lost its p99.
func TestARunTooShortForItsP99(t *testing.T) {
	for _, c := range []struct {
		acquired int64
		want     Verdict
	}{
		{100, Inconclusive}, {99, Pass}, {50, Pass}, {49, Inconclusive},
	} {
		base, head := writeSides(t, 12, 300, 300, func(side string, i int, s *runSpec) {
			if side == "head" && i == 4 {
				s.edit = func(r *result.Result) {
					a := &r.Latency.Acquire
					slowest := int64(1.3 * float64(*a.P90Ns))
					a.Count, a.P99Ns, a.MaxNs = c.acquired, nil, &slowest
				}
			}
		})
		r, err := compareDirs(base, head, Options{Paired: true})
		if err != nil || r.Verdict != c.want {
			t.Errorf("%d acquisitions: %s (%s), %v; want %s", c.acquired, r.Verdict, r.Reason, err, c.want)
		}
	}
	// The slowest counts: a head whose runs are all short and have a slow one each has a slower tail.
	base, head := writeSides(t, 12, 300, 300, func(side string, i int, s *runSpec) {
		s.edit = func(r *result.Result) {
			a := &r.Latency.Acquire
			slowest := *a.P99Ns
			if side == "head" {
				slowest *= 2
			}
			a.Count, a.P99Ns, a.MaxNs = 80, nil, &slowest
		}
	})
	if r, err := compareDirs(base, head, Options{Paired: true}); err != nil || r.Verdict != Regressed {
		t.Errorf("each head has a slow acquisition: %s (%s), %v", r.Verdict, r.Reason, err)
	}
}
