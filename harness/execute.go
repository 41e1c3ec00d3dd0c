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
	stage, err := OpenStage(ctx, sc, opts)
	if err != nil {
		return Outcome{}, err
	}
	runErr := stage.Run(ctx, sc, dir)
	// The lab goes before the judging: it takes cores, and nobody needs it any more.
	err = joinClose(runErr, stage)
	if errors.Is(runErr, ErrDirInUse) {
		return Outcome{}, err
	}
	out, concludeErr := Conclude(dir)
	return out, errors.Join(err, concludeErr)
}

func (s *Stage) runAndConclude(ctx context.Context, sc *scenario.Scenario, dir string) (Outcome, error) {
	runErr := s.Run(ctx, sc, dir)
	out, err := Conclude(dir)
	return out, errors.Join(runErr, err)
}

func joinClose(err error, s *Stage) error { return errors.Join(err, s.Close()) }
