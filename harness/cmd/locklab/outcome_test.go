package main

import (
	"strings"
	"testing"

	"locklab/harness/check"
	"locklab/harness/judge"
	"locklab/reports/result"
)

// The terminal heads a run by its outcome, and says of each condition whether it was met and how often.
func TestOutcomeOnTheTerminal(t *testing.T) {
	var b strings.Builder
	printOutcome(&b, judge.Outcome{Dir: "d", Result: result.Result{Outcome: result.DamageShown, Headline: "Two at once.",
		Sometimes: []check.ConditionCount{
			{Condition: "overlap", Means: "two at once", Met: true, Count: new(int64(3))},
			{Condition: "stale-access", Means: "a stale access"},
		}}})
	if want := "Damage shown, as expected: Two at once.\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("%q does not begin with %q", b.String(), want)
	}
	for _, want := range []string{"overlap yes 3 two at once", "stale-access no n/a a stale access"} {
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}
