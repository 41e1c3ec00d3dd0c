package harness

import (
	"context"
	"path/filepath"

	"locklab/harness/scenario"
)

// An Act is one run of a demonstration.
type Act struct {
	// Name is the act's directory.
	Name     string
	Scenario *scenario.Scenario
}

// Demo runs acts one after the other in one lab, each with a run directory of its
// own below dir, and tells of each as it ends. The acts need the same hosts; the
// lab is made for the first. An error ends the demonstration; the outcomes so far
// are returned with it.
func Demo(ctx context.Context, acts []Act, dir string, opts Options, tell func(Act, Outcome)) (_ []Outcome, err error) {
	for _, act := range acts {
		if err := checkDir(filepath.Join(dir, act.Name)); err != nil {
			return nil, err
		}
	}
	stage, err := OpenStage(ctx, acts[0].Scenario, opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = joinClose(err, stage) }()
	var outcomes []Outcome
	for _, act := range acts {
		actDir := filepath.Join(dir, act.Name)
		out, err := conclude(actDir, stage.Run(ctx, act.Scenario, actDir))
		if out.Dir != "" {
			outcomes = append(outcomes, out)
			tell(act, out)
		}
		if err != nil {
			return outcomes, err
		}
	}
	return outcomes, nil
}
