package console

import (
	"strings"
	"testing"

	"locklab/reports/result"
)

// Damage that was to show is not painted as a lock that is sound, and what is not known has no colour.
func TestOutcomesHaveColours(t *testing.T) {
	seen := map[string]result.Outcome{}
	for _, o := range []result.Outcome{result.AsExpected, result.DamageShown, result.Violation} {
		text := painted(o, "word")
		before, _, ok := strings.Cut(text, "word")
		if other, twice := seen[before]; !ok || before == "" || twice {
			t.Errorf("%s is painted %q, as is %q", o, text, other)
		}
		seen[before] = o
	}
	if got := painted(result.Inconclusive, "word"); got != "word" {
		t.Errorf("unknown is painted %q", got)
	}
	var b strings.Builder
	if got := Paint(&b, result.DamageShown, "word"); got != "word" {
		t.Errorf("a file gets %q", got)
	}
}
