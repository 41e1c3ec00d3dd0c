package result

import (
	"testing"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
)

const pass, fail, unknown = evidence.Pass, evidence.Fail, evidence.Unknown

// A run that was to show damage and did is told apart from one that found nothing wrong; every outcome has a heading
// of its own kind and says what it means.
func TestOutcome(t *testing.T) {
	verdict := func(name string, expected evidence.Expectation, found evidence.Result) evidence.Verdict {
		return evidence.Verdict{Name: name, Expected: expected, Result: found}
	}
	for _, c := range []struct {
		name       string
		checks     []evidence.Verdict
		thresholds evidence.Result
		want       Outcome
		heading    string
	}{
		{"all is well", []evidence.Verdict{verdict(evidence.Effect, evidence.ExpectPass, pass)}, pass, AsExpected, "Pass"},
		{"damage that was to show", []evidence.Verdict{verdict(evidence.Effect, evidence.ExpectFail, fail)}, pass,
			DamageShown, "Damage shown, as expected"},
		{"overlaps that did no harm", []evidence.Verdict{verdict(evidence.BeliefExclusion, evidence.ExpectFail, fail),
			verdict(evidence.Effect, evidence.ExpectPass, pass)}, pass, AsExpected, "Pass"},
		{"overlaps, and nobody knows of what harm", []evidence.Verdict{
			verdict(evidence.BeliefExclusion, evidence.ExpectFail, fail),
			verdict(evidence.Effect, evidence.ExpectPass, evidence.NotApplicable)}, pass, DamageShown,
			"Damage shown, as expected"},
		{"two holders at the servers", []evidence.Verdict{verdict(evidence.ServiceExclusion, evidence.ExpectFail, fail),
			verdict(evidence.Effect, evidence.ExpectPass, pass)}, pass, DamageShown, "Damage shown, as expected"},
		{"damage that may be", []evidence.Verdict{verdict(evidence.Effect, evidence.ExpectAny, fail)}, pass, AsExpected,
			"Pass"},
		{"damage that did not show", []evidence.Verdict{verdict(evidence.Effect, evidence.ExpectFail, pass)}, pass,
			Inconclusive, "Unknown"},
		{"damage, and something that must not be", []evidence.Verdict{
			verdict(evidence.Effect, evidence.ExpectFail, fail),
			{Name: evidence.Tokens, Expected: evidence.ExpectPass, Result: fail, Violation: true}}, pass, Violation,
			"Fail"},
		{"a threshold", []evidence.Verdict{verdict(evidence.Effect, evidence.ExpectPass, pass)}, fail, ThresholdMissed,
			"Fail"},
		{"damage and a threshold", []evidence.Verdict{verdict(evidence.Effect, evidence.ExpectFail, fail)}, unknown,
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
