package result

import (
	"testing"

	"locklab/harness/check"
)

// A run that was to show damage and did is told apart from one that found nothing wrong; every outcome has a heading
// of its own kind and says what it means.
func TestOutcome(t *testing.T) {
	verdict := func(name string, expected check.Expectation, found check.Result) check.Verdict {
		return check.Verdict{Name: name, Expected: expected, Result: found}
	}
	for _, c := range []struct {
		name       string
		checks     []check.Verdict
		thresholds check.Result
		want       Outcome
		heading    string
	}{
		{"all is well", []check.Verdict{verdict(check.Effect, check.ExpectPass, check.Pass)}, check.Pass, AsExpected, "Pass"},
		{"damage that was to show", []check.Verdict{verdict(check.Effect, check.ExpectFail, check.Fail)}, check.Pass,
			DamageShown, "Damage shown, as expected"},
		{"overlaps that did no harm", []check.Verdict{verdict(check.BeliefExclusion, check.ExpectFail, check.Fail),
			verdict(check.Effect, check.ExpectPass, check.Pass)}, check.Pass, AsExpected, "Pass"},
		{"overlaps, and nobody knows of what harm", []check.Verdict{
			verdict(check.BeliefExclusion, check.ExpectFail, check.Fail),
			verdict(check.Effect, check.ExpectPass, check.NotApplicable)}, check.Pass, DamageShown,
			"Damage shown, as expected"},
		{"two holders at the servers", []check.Verdict{verdict(check.ServiceExclusion, check.ExpectFail, check.Fail),
			verdict(check.Effect, check.ExpectPass, check.Pass)}, check.Pass, DamageShown, "Damage shown, as expected"},
		{"damage that may be", []check.Verdict{verdict(check.Effect, check.ExpectAny, check.Fail)}, check.Pass, AsExpected,
			"Pass"},
		{"damage that did not show", []check.Verdict{verdict(check.Effect, check.ExpectFail, check.Pass)}, check.Pass,
			Inconclusive, "Unknown"},
		{"damage, and something that must not be", []check.Verdict{
			verdict(check.Effect, check.ExpectFail, check.Fail),
			{Name: check.Tokens, Expected: check.ExpectPass, Result: check.Fail, Violation: true}}, check.Pass, Violation,
			"Fail"},
		{"a threshold", []check.Verdict{verdict(check.Effect, check.ExpectPass, check.Pass)}, check.Fail, ThresholdMissed,
			"Fail"},
		{"damage and a threshold", []check.Verdict{verdict(check.Effect, check.ExpectFail, check.Fail)}, check.Unknown,
			Inconclusive, "Unknown"},
	} {
		rep := check.Report{Checks: c.checks}
		rep.Verdict = rep.Overall()
		got := outcomeOf(overall(rep.Verdict, []ThresholdLine{{Verdict: c.thresholds}}), rep)
		if got != c.want || got.Heading() != c.heading || got.Meaning() == "" {
			t.Errorf("%s: %s, %q, %q; want %s, %q", c.name, got, got.Heading(), got.Meaning(), c.want, c.heading)
		}
	}
}
