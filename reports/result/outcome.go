package result

import (
	"locklab/harness/check"
	"locklab/harness/check/evidence"
)

// An Outcome says what a run's verdict means. It tells apart what the verdict does not: a run that was to show damage
// and did passes, but nobody should take it for a sound lock.
type Outcome string

// The outcomes.
const (
	AsExpected      Outcome = "as-expected"
	DamageShown     Outcome = "damage-shown"
	Violation       Outcome = "violation"
	ThresholdMissed Outcome = "threshold-missed"
	Inconclusive    Outcome = "inconclusive"
)

// outcomeOf returns the outcome of a run with that verdict of checks and thresholds.
func outcomeOf(verdict evidence.Result, rep check.Report) Outcome {
	switch {
	case rep.Verdict == evidence.Fail:
		return Violation
	case verdict == evidence.Fail:
		return ThresholdMissed
	case verdict != evidence.Pass:
		return Inconclusive
	case damageShown(rep):
		return DamageShown
	}
	return AsExpected
}

// damageShown reports whether a check failed that the scenario expects to fail. Overlapping beliefs are not damage by
// themselves where the use of what the lock protects was judged and found sound.
func damageShown(rep check.Report) bool {
	effect := rep.Check(evidence.Effect)
	harmless := effect != nil && effect.Result == evidence.Pass
	for i := range rep.Checks {
		v := &rep.Checks[i]
		if v.Expected == evidence.ExpectFail && v.Result == evidence.Fail &&
			(v.Name != evidence.BeliefExclusion || !harmless) {
			return true
		}
	}
	return false
}

// Heading is the verdict for people.
func (o Outcome) Heading() string {
	switch o {
	case DamageShown:
		return "Damage shown, as expected"
	case AsExpected:
		return "Pass"
	case Violation, ThresholdMissed:
		return "Fail"
	}
	return "Unknown"
}

// Meaning says in a sentence or two what the outcome means.
func (o Outcome) Meaning() string {
	switch o {
	case AsExpected:
		return "Every check came out as this scenario expects."
	case DamageShown:
		return "This scenario sets out to show damage, and the damage showed. Everything else came out as expected."
	case Violation:
		return "At least one check found what must not happen here."
	case ThresholdMissed:
		return "Every check came out as this scenario expects, but a threshold was missed."
	}
	return "The run proves neither that all is well nor that something is broken."
}
