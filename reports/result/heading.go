package result

import (
	"fmt"
	"strings"

	"locklab/reports/words"
)

// Heading is the run's verdict for people. A pass in which two clients held a lock at once, or an outdated access got
// through, says so: the scenario allowed it, and it is no sound lock's pass.
func (r *Result) Heading() string {
	if seen := r.allowed(); seen != "" {
		return "Pass, though " + seen + ", as the scenario allows"
	}
	return r.Outcome.Heading()
}

// OutcomeClass is the outcome as the pages colour it. A pass that allowed damage is not shown as a sound lock's.
func (r *Result) OutcomeClass() Outcome {
	if r.allowed() != "" && (positive(r.Safety.StaleAccepted) || positive(r.Safety.LostUpdates)) {
		return DamageShown
	}
	return r.Outcome
}

// allowed says what a run that passed had that a sound lock with a guard has not; "" if nothing.
func (r *Result) allowed() string {
	if r.Outcome != AsExpected {
		return ""
	}
	var all []string
	for _, c := range []struct {
		n    *int64
		noun string
		does string
	}{{r.Safety.Overlaps, "overlap", "was seen"}, {r.Safety.StaleAccepted, "outdated access", "was accepted"},
		{r.Safety.LostUpdates, "update", "was lost"}} {
		if !positive(c.n) {
			continue
		}
		does := c.does
		if *c.n > 1 {
			does = strings.Replace(does, "was", "were", 1)
		}
		all = append(all, fmt.Sprintf("%s %s", words.Count(*c.n, c.noun), does))
	}
	return strings.Join(all, " and ")
}

func positive(n *int64) bool { return n != nil && *n > 0 }
