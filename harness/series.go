package harness

import (
	"context"
	"errors"

	"locklab/harness/scenario"
)

// A Series is runs that follow one another, each in a lab of the settings that it wants. One
// lab is open at a time, as long as the next run can use it. It is not for concurrent use.
type Series struct {
	Options Options
	// ClientProcesses is the number of client hosts of labs that are not equipped for
	// recipes of others; 0 = as many as the run that opens it has.
	ClientProcesses int

	stage *Stage
}

// Run carries out one run, in the open lab or in a new one, and judges and draws it, as
// [Execute] does. A run that breaks off takes its lab with it.
func (s *Series) Run(ctx context.Context, sc *scenario.Scenario, dir string) (Outcome, error) {
	if err := checkDir(dir); err != nil {
		return Outcome{}, err
	}
	if err := s.open(ctx, sc); err != nil {
		return Outcome{}, err
	}
	err := s.stage.Run(ctx, sc, dir)
	if err != nil {
		err = errors.Join(err, s.Close())
	}
	return conclude(dir, err)
}

func (s *Series) open(ctx context.Context, sc *scenario.Scenario) error {
	if s.stage != nil && s.stage.Fits(sc) {
		return nil
	}
	if err := s.Close(); err != nil {
		return err
	}
	lab := sc.Clone()
	if !sc.Foreign() {
		lab.ClientProcesses = max(lab.ClientProcesses, s.ClientProcesses)
	}
	stage, err := OpenStage(ctx, lab, s.Options)
	if err != nil {
		return err
	}
	s.stage = stage
	return nil
}

// Close takes the open lab down, if there is one.
func (s *Series) Close() error {
	if s.stage == nil {
		return nil
	}
	stage := s.stage
	s.stage = nil
	return stage.Close()
}
