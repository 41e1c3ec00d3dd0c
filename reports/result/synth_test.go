package result

import (
	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/rundir"
)

// summarized is the result of a run with the verdicts of the checks.
func summarized(run *rundir.Run, facts evidence.Facts) Result {
	return NewInput(run, check.Run(run.Events, facts)).Result
}
