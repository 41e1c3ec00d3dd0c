package console

import (
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/judge"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// The terminal heads a run by its outcome, and says of each condition whether it was met and how often.
func TestOutcomeOnTheTerminal(t *testing.T) {
	var b strings.Builder
	printSummary(&b, judge.Outcome{Dir: "d", Result: result.Result{Outcome: result.DamageShown, Headline: "Two at once.",
		Sometimes: []evidence.ConditionCount{
			{Condition: "overlap", Means: "two at once", Met: true, Count: new(int64(3))},
			{Condition: "stale-access", Means: "a stale access"},
		}}})
	if want := "Damage shown, as expected: Two at once.\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("%q does not begin with %q", b.String(), want)
	}
	if strings.Contains(b.String(), "failed") {
		t.Errorf("failures are told where there are none: %q", b.String())
	}
	for _, want := range []string{"overlap yes 3 two at once", "stale-access no n/a a stale access"} {
		if text := strings.Join(strings.Fields(b.String()), " "); !strings.Contains(text, want) {
			t.Errorf("no %q in %q", want, text)
		}
	}
}

// The first lines say why acquisitions failed.
func TestFailuresComeFirstOnTheTerminal(t *testing.T) {
	var b strings.Builder
	printSummary(&b, judge.Outcome{Dir: "d", Result: result.Result{Outcome: result.Violation, Headline: "All failed.",
		Failures: measure.Failures{Count: 2400, Reasons: []measure.FailureReason{
			{Text: "zk: node does not exist", Count: 2381}, {Text: "one permit at a time", Count: 16},
			{Text: "no reason given", Count: 1}}}}})
	_, after, _ := strings.Cut(b.String(), "All failed.\n\n")
	want := "2,400 acquisitions failed:\n  2,381 × zk: node does not exist\n  16 × one permit at a time\n" +
		"  1 × no reason given\n  2 for other reasons\n\ncheck "
	if !strings.HasPrefix(after, want) {
		t.Errorf("the output goes on with %q, want %q", after, want)
	}
}
