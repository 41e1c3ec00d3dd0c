package result

import (
	"locklab/harness/check"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
)

// Begun returns the result of a run that has only begun. It stays in the run directory if the run is never judged.
func Begun(sc *scenario.Scenario) Result {
	r := Summarize(rundir.Begun(sc), check.Report{Verdict: check.Unknown})
	r.Warnings = append(r.Warnings, "the run has not ended, or its harness was killed; locklab check reads what there is")
	return r
}
