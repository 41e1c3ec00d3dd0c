package series

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/ensembles"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/simulate"
)

// Labs carries out runs that follow one another, each in a lab with the settings that it wants. A lab stays open for
// the runs that can use it too. Labs is not for concurrent use.
type Labs struct {
	Options run.Options
	// ClientProcesses is the number of client hosts of labs that are not equipped for a foreign recipe; 0 = as many
	// as the run that opens the lab has.
	ClientProcesses int
	// Most is how many labs stay open side by side; 0 = 1. Another one takes the place of the oldest.
	Most int

	open   []*run.Stage  // the oldest first
	window time.Duration // by which servers are warmed up; 0 = warmWindow, tests have a shorter one
}

// A Job is one run, with what is to be done with its directory.
type Job struct {
	Scenario *scenario.Scenario
	Dir      string
	// OtherClients has the client processes run [run.Options.OtherClients].
	OtherClients bool
	// Undrawn leaves the report out, which takes longer to draw than a short run lasts.
	Undrawn bool
	// Last takes the lab down before the run is judged, because it takes cores and no other run follows.
	Last bool

	_ struct{}
}

// Run carries out one run, in an open lab, in a new one, or as a simulation, and judges and draws it. A run that broke
// off is judged and drawn too: the outcome is then valid beside the error, and its Dir is not empty. Such a run takes
// its lab with it. If the servers cannot be warmed up, there is no run.
func (l *Labs) Run(ctx context.Context, job Job) (judge.Outcome, error) {
	if err := rundir.CheckDir(job.Dir); err != nil {
		return judge.Outcome{}, err // before a lab is started for nothing
	}
	if job.Scenario.Lab == ensembles.LabSim {
		return conclude(ctx, job, simulate.Scenario(ctx, job.Scenario, job.Dir))
	}
	stage, err := l.stage(ctx, job.Scenario)
	if err != nil {
		return judge.Outcome{}, err
	}
	if err := l.warmUp(ctx, stage, job.Scenario); err != nil {
		return judge.Outcome{}, errors.Join(err, l.Close())
	}
	carryOut := stage.Run
	if job.OtherClients {
		carryOut = stage.RunOther
	}
	err = carryOut(ctx, job.Scenario, job.Dir)
	if err != nil || job.Last {
		err = errors.Join(err, l.Close())
	}
	return conclude(ctx, job, err)
}

// Open makes sure that there is a lab for the scenario.
func (l *Labs) Open(ctx context.Context, sc *scenario.Scenario) error {
	_, err := l.stage(ctx, sc)
	return err
}

func (l *Labs) stage(ctx context.Context, sc *scenario.Scenario) (*run.Stage, error) {
	for _, s := range l.open {
		if s.Fits(sc) {
			return s, nil
		}
	}
	if len(l.open) == max(l.Most, 1) {
		oldest := l.open[0]
		l.open = l.open[1:]
		if err := oldest.Close(); err != nil {
			return nil, err
		}
	}
	lab := sc.Clone()
	if !sc.Foreign() {
		lab.ClientProcesses = max(lab.ClientProcesses, l.ClientProcesses)
	}
	s, err := run.OpenStage(ctx, lab, l.Options)
	if err != nil {
		return nil, err
	}
	l.open = append(l.open, s)
	return s, nil
}

// Close takes down the labs that are open.
func (l *Labs) Close() error {
	var errs []error
	for _, s := range l.open {
		errs = append(errs, s.Close())
	}
	l.open = nil
	return errors.Join(errs...)
}

// Execute carries out one run in a lab of its own, as [Labs.Run] does.
func Execute(ctx context.Context, sc *scenario.Scenario, dir string, opts run.Options) (judge.Outcome, error) {
	labs := Labs{Options: opts}
	return labs.Run(ctx, Job{Scenario: sc, Dir: dir, Last: true})
}

// conclude judges and draws a run that came to err. A run that was interrupted is judged and drawn too. An interrupt
// that comes later ends the judging and drawing at once, because the directory is complete and both can be done again.
func conclude(ctx context.Context, job Job, err error) (judge.Outcome, error) {
	if errors.Is(err, rundir.ErrNoDir) {
		return judge.Outcome{}, err // the directory is not this run's
	}
	interrupt := ctx.Done()
	if ctx.Err() != nil {
		interrupt = nil
	}
	type conclusion struct {
		out judge.Outcome
		err error
	}
	done := make(chan conclusion, 1)
	go func() {
		judged := judge.Conclude
		if job.Undrawn {
			judged = judge.Check
		}
		out, err := judged(job.Dir)
		done <- conclusion{out, err}
	}()
	select {
	case c := <-done:
		return c.out, errors.Join(err, c.err)
	case <-interrupt:
		return judge.Outcome{}, errors.Join(err, fmt.Errorf("%w while the run was judged and drawn; do that with: "+
			"locklab check %s", context.Cause(ctx), job.Dir))
	}
}
