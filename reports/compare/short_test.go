package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/reports/result"
)

// A run with too few acquisitions for its p99 is compared by its slowest. Of one that has fewer than half of those, the
// number is not known.
func TestARunTooShortForItsP99(t *testing.T) {
	for acquired, known := range map[int64]bool{99: true, 50: true, 49: false} {
		base, head := writeSides(t, 12, 300, 300, func(side string, i int, s *runSpec) {
			if side == "head" && i == 4 {
				s.edit = func(r *result.Result) {
					a := &r.Latency.Acquire
					slowest := int64(1.3 * float64(*a.P90Ns))
					a.Count, a.P99Ns, a.MaxNs = acquired, nil, &slowest
				}
			}
		})
		r, err := compareDirs(base, head, Options{Paired: true})
		if err != nil || r.Verdict != Pass || known == slices.ContainsFunc(r.Warnings, saysUnknown) {
			t.Errorf("%d acquisitions: %s (%s), %q, %v", acquired, r.Verdict, r.Reason, r.Warnings, err)
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

func saysUnknown(warning string) bool {
	return strings.HasPrefix(warning, "acquire.p99: ") && strings.Contains(warning, "run-04 has none; the answer holds")
}

// Pairs of which a number is not known leave an answer if it is the same whatever the numbers were. If they are many,
// it never is. Sides that are not paired have no answer without all numbers.
func TestUnknownNumbers(t *testing.T) {
	for _, c := range []struct {
		name    string
		pairs   int
		unknown map[string]int // how many runs of each side
		slower  float64
		paired  bool
		verdict Verdict
	}{
		{"one of few", 12, map[string]int{"head": 1}, 1, true, Pass},
		{"the base's", 12, map[string]int{"base": 1}, 1, true, Pass},
		{"a slow lock's", 30, map[string]int{"head": 1}, 2, true, Regressed},
		{"a slow lock's base", 30, map[string]int{"base": 1}, 2, true, Regressed},
		{"of both", 30, map[string]int{"base": 1, "head": 1}, 2, true, Regressed},
		{"too many", 12, map[string]int{"head": 4}, 1, true, Inconclusive},
		{"too many of a slow lock", 30, map[string]int{"head": 9}, 2, true, Inconclusive},
		{"all of one side", 30, map[string]int{"head": 30}, 1, true, Inconclusive},
		{"without pairs", 30, map[string]int{"head": 1}, 1, false, Inconclusive},
	} {
		base, head := writeSides(t, c.pairs, 300, 300, func(side string, i int, s *runSpec) {
			s.edit = func(r *result.Result) {
				if p99 := &r.Latency.Acquire.P99Ns; i < c.unknown[side] {
					r.Latency.Acquire.Count, *p99 = 20, nil
				} else if side == "head" {
					**p99 = int64(c.slower * float64(**p99))
				}
			}
		})
		r, err := compareDirs(base, head, Options{Paired: c.paired, Metrics: []string{"acquire.p99"}})
		if err != nil || r.Verdict != c.verdict {
			t.Errorf("%s: %s (%s), %v", c.name, r.Verdict, r.Reason, err)
		}
	}
}

// A run that did not go as it was to, because the machine stood still for example, costs a comparison of many pairs no
// answer. One whose safety is unknown does, and so do many of them.
func TestUnsettledRuns(t *testing.T) {
	for _, c := range []struct {
		name    string
		check   string
		runs    int // of the head
		paired  bool
		verdict Verdict
	}{
		{"one", evidence.Assumptions, 1, true, Pass},
		{"many", evidence.Assumptions, 8, true, Inconclusive},
		{"without pairs", evidence.Assumptions, 1, false, Inconclusive},
		{"of unknown safety", evidence.BeliefExclusion, 1, true, Inconclusive},
	} {
		base, head := writeSides(t, 30, 300, 300, func(side string, i int, s *runSpec) {
			s.edit = func(r *result.Result) {
				if side == "head" && i < c.runs {
					r.Verdict = evidence.Unknown
					r.Checks = append(r.Checks, result.CheckLine{Name: c.check, Expected: evidence.ExpectPass,
						Result: evidence.Unknown, Outcome: evidence.Unknown})
					*r.Latency.Acquire.P99Ns *= 100
				}
			}
		})
		r, err := compareDirs(base, head, Options{Paired: c.paired})
		if err != nil || r.Verdict != c.verdict {
			t.Errorf("%s: %s (%s), %v", c.name, r.Verdict, r.Reason, err)
		}
		const says = "is unknown: it did not reach what it set out to test; the answer holds"
		warned := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, says) })
		if c.verdict == Pass && !warned {
			t.Errorf("%s: nothing is said about it: %q", c.name, r.Warnings)
		}
	}
}

// A number that is 0 in all runs was measured. Nothing has a ratio to it, so there is no answer, with pairs or without.
func TestNumbersThatAreZero(t *testing.T) {
	for _, paired := range []bool{true, false} {
		base, head := writeSides(t, 12, 300, 300, func(_ string, _ int, s *runSpec) {
			s.edit = func(r *result.Result) { *r.Latency.Acquire.P99Ns = 0 }
		})
		r, err := compareDirs(base, head, Options{Paired: paired})
		if err != nil || r.Verdict != Inconclusive || !strings.Contains(r.Reason, "acquire.p99: it is 0 in ") {
			t.Errorf("paired %t: %s (%s), %v", paired, r.Verdict, r.Reason, err)
		}
	}
}

// The interval and p with unknown pairs hold for each number that the pairs may have had.
func TestUnknownNumbersAreWorstCases(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		n, unknown, difference := 15+rng.IntN(40), 1+rng.IntN(3), rng.IntN(2) == 0
		draw := func(n int, deviation float64) (base, head []float64) {
			for range n {
				d := 0.1 + deviation*rng.NormFloat64()
				base, head = append(base, 1), append(head, 1+d)
				if !difference {
					head[len(head)-1] = math.Exp(d)
				}
			}
			return base, head
		}
		b, h := draw(n, 0.1)
		bounds, ok := withUnknownChange(unknown)(b, h, difference, 0.05)
		p := withUnknownP(unknown)(b, h, difference)
		b2, h2 := draw(unknown, 5)
		b, h = slices.Concat(b, b2), slices.Concat(h, h2)
		i, _ := pairedChange(b, h, difference, 0.05)
		outside := bounds.Low > i.Low || bounds.High < i.High || bounds.Low > bounds.Estimate ||
			bounds.High < bounds.Estimate
		if ok && outside || !ok && n > 30 || p < pairedP(b, h, difference)-1e-12 {
			t.Errorf("%d pairs and %d unknown: %v %t and p %v, with numbers %v and %v", n, unknown, bounds, ok, p, i,
				pairedP(b, h, difference))
		}
	}
}
