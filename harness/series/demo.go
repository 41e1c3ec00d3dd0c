package series

import (
	"context"
	"errors"
	"path/filepath"

	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/scenario"
	"locklab/reports/index"
)

// An Act is one run of a demonstration.
type Act struct {
	// Name is the act's directory.
	Name     string
	Scenario *scenario.Scenario
}

// Demo runs acts one after the other, each with a run directory of its own below dir, and reports each as it ends. An
// error ends the demonstration; the outcomes so far are returned with it.
func Demo(ctx context.Context, acts []Act, dir string, opts run.Options, report func(Act, judge.Outcome)) (
	outcomes []judge.Outcome, err error) {
	labs := Labs{Options: opts}
	defer func() { err = errors.Join(err, labs.Close(), index.Update(dir, "Demonstration")) }()
	for _, act := range acts {
		out, err := labs.Run(ctx, Job{Scenario: act.Scenario, Dir: filepath.Join(dir, act.Name)})
		if out.Dir != "" {
			outcomes = append(outcomes, out)
			report(act, out)
		}
		if err != nil {
			return outcomes, err
		}
	}
	return outcomes, nil
}
