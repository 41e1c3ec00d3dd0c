package check

import (
	"slices"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
)

// A Report is everything that Run found.
type Report struct {
	Verdict  evidence.Result      `json:"verdict"` // of all checks together
	Checks   []evidence.Verdict   `json:"checks"`  // in a fixed order
	Safety   evidence.Safety      `json:"safety"`
	Faults   []effect.FaultRecord `json:"faults"` // in order of injection, those never injected last
	Warnings []string             `json:"warnings"`
	Caveats  []string             `json:"caveats,omitempty"` // warnings that lead

	// Sometimes says how often the conditions were met that the scenario names.
	Sometimes []evidence.ConditionCount `json:"sometimes"`

	// Resolved says what became of operations of unknown outcome, by the servers' transactions.
	Resolved []Resolution `json:"resolved,omitempty"`

	// Held says what the servers granted, for pictures; nil if their logs were not read.
	ServerHolds *ServerHolds `json:"-"`
}

// Overall is the run's result: Pass if every check came out as expected.
func (r *Report) Overall() evidence.Result {
	worst := evidence.Pass
	for i := range r.Checks {
		switch r.Checks[i].Outcome() {
		case evidence.Fail:
			return evidence.Fail
		case evidence.Unknown:
			worst = evidence.Unknown
		}
	}
	return worst
}

// Check returns the verdict of that name, or nil.
func (r *Report) Check(name string) *evidence.Verdict {
	for i := range r.Checks {
		if r.Checks[i].Name == name {
			return &r.Checks[i]
		}
	}
	return nil
}

// Found returns the first finding of one of these kinds with which the check of that name failed, or nil. cause is the
// kind of the fault that has to explain the finding; if it is empty, nothing may explain it.
func (r *Report) Found(name string, kinds []string, cause string) *evidence.Finding {
	v := r.Check(name)
	if v == nil || v.Result != evidence.Fail {
		return nil
	}
	i := slices.IndexFunc(v.Findings, func(f evidence.Finding) bool {
		return slices.Contains(kinds, string(f.Kind)) && f.Explained == (cause != "") && (cause == "" || f.Cause == cause)
	})
	if i < 0 {
		return nil
	}
	return &v.Findings[i]
}
