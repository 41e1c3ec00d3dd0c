package check

import (
	"slices"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/check/progress"
)

// All returns the checks in the order of a report. Those that read the counters that others filled in come last.
func All() []evidence.Check {
	return []evidence.Check{
		serviceExclusionCheck,
		beliefExclusionCheck,
		effect.EffectCheck,
		tokensCheck,
		fairnessCheck,
		progress.LivenessCheck,
		progress.ServiceLivenessCheck,
		assumptionsCheck,
		sometimesCheck,
		shownCheck,
	}
}

// Expectable returns the names of the checks that a scenario may state an expectation for, in the order of a report.
func Expectable() []string {
	var names []string
	for _, c := range All() {
		if !c.OfRun {
			names = append(names, c.Name)
		}
	}
	return names
}

// Named returns the check of that name, and false if there is none.
func Named(name string) (evidence.Check, bool) {
	all := All()
	if i := slices.IndexFunc(all, func(c evidence.Check) bool { return c.Name == name }); i >= 0 {
		return all[i], true
	}
	return evidence.Check{}, false
}

// Expected returns what is expected of the check of that name: what the scenario says, or else the check's default.
func Expected(f *evidence.Facts, name string) evidence.Expectation {
	if e := f.Expect[name]; e != "" {
		return e
	}
	if c, ok := Named(name); ok && c.Default != nil {
		return c.Default(f)
	}
	return evidence.ExpectPass
}
