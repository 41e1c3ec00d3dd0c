package result

import "testing"

// A pass in which damage was allowed says so, and is not coloured as a sound lock's.
func TestHeading(t *testing.T) {
	n := func(v int64) *int64 { return &v }
	for _, c := range []struct {
		outcome               Outcome
		overlaps, stale, lost *int64
		want                  string
		class                 Outcome
	}{
		{AsExpected, nil, nil, nil, "Pass", AsExpected},
		{AsExpected, n(0), n(0), n(0), "Pass", AsExpected},
		{AsExpected, n(106), n(0), nil, "Pass, though 106 overlaps were seen, as the scenario allows", AsExpected},
		{AsExpected, n(1), n(1), n(2), "Pass, though one overlap was seen and one outdated access was accepted and 2 " +
			"updates were lost, as the scenario allows", DamageShown},
		{DamageShown, n(3), n(3), n(9), "Damage shown, as expected", DamageShown},
		{Violation, n(3), nil, nil, "Fail", Violation},
	} {
		r := Result{Outcome: c.outcome}
		r.Safety.Overlaps, r.Safety.StaleAccepted, r.Safety.LostUpdates = c.overlaps, c.stale, c.lost
		if r.Heading() != c.want || r.OutcomeClass() != c.class {
			t.Errorf("%q, %s; want %q, %s", r.Heading(), r.OutcomeClass(), c.want, c.class)
		}
	}
}
