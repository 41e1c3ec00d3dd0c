package harness

import (
	"context"
	"errors"

	"locklab/harness/scenario"
)

// Execute makes a lab, runs the scenario in it, takes it down, and judges and
// draws what was recorded. A run that broke off is judged and drawn too: the
// outcome is then valid beside the error, and its Dir is not empty.
func Execute(ctx context.Context, sc *scenario.Scenario, dir string, opts Options) (out Outcome, err error) {
	if err := checkDir(dir); err != nil {
		return Outcome{}, err // before the lab is made for nothing
	}
	stage, err := OpenStage(ctx, sc, opts)
	if err != nil {
		return Outcome{}, err
	}
	runErr := stage.Run(ctx, sc, dir)
	// The lab goes before the judging: it takes cores, and nobody needs it any more.
	return conclude(dir, joinClose(runErr, stage))
}

// conclude judges and draws a run that came to err.
func conclude(dir string, err error) (Outcome, error) {
	if errors.Is(err, errNoDir) {
		return Outcome{}, err // what is there is not ours to judge
	}
	out, concludeErr := Conclude(dir)
	return out, errors.Join(err, concludeErr)
}

func joinClose(err error, s *Stage) error { return errors.Join(err, s.Close()) }
