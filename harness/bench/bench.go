package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/check"
)

// The folders of a benchmark beside its sides'.
const (
	warmUpDir     = "warmup"
	unfinishedDir = "unfinished"
)

// An Event tells of a run that is over.
type Event struct {
	Side string
	// Name is the run directory, below the benchmark's.
	Name    string
	Outcome harness.Outcome
	// WarmUp says that it does not count.
	WarmUp bool
	// Done of Turns samples are there, and the rest will take about Left; 0 if that cannot be said yet.
	Done, Turns int
	Left        time.Duration
}

// Run carries the plan out below dir, which must be empty or absent, and tells of each run.
// Where the sides need different labs, each has its own, side by side for as long as the
// benchmark lasts. An error ends it, and so does ctx; the samples up to then, and what belongs
// to them, are there all the same. A run that broke off is not among them.
func Run(ctx context.Context, p Plan, dir string, opts harness.Options, tell func(Event)) (err error) {
	if err := harness.CheckDir(dir); err != nil {
		return err
	}
	b := benchmark{plan: p, dir: dir, tell: tell}
	if err := b.open(ctx, opts); err != nil {
		return errors.Join(err, b.close())
	}
	if err := b.writePlan(); err != nil {
		return errors.Join(err, b.close())
	}
	err = b.warmUp(ctx)
	if err == nil {
		err = b.runs(ctx)
	}
	return errors.Join(err, b.close(), b.writeSamples())
}

// A benchmark is a plan while it is carried out.
type benchmark struct {
	plan   Plan
	dir    string
	tell   func(Event)
	stages map[string]*harness.Stage // by side; one may be both's
}

// open makes the lab, or the labs.
func (b *benchmark) open(ctx context.Context, opts harness.Options) error {
	b.stages = map[string]*harness.Stage{}
	opts.OtherClients = b.plan.HeadClients
	stage, err := harness.OpenStage(ctx, b.plan.Base, opts)
	if err != nil {
		return err
	}
	b.stages[Base] = stage
	if b.plan.Head == nil {
		return nil
	}
	if !stage.Fits(b.plan.Head) {
		if stage, err = harness.OpenStage(ctx, b.plan.Head, opts); err != nil {
			return err
		}
	}
	b.stages[Head] = stage
	return nil
}

func (b *benchmark) close() error {
	var errs []error
	for side, s := range b.stages {
		if side == Base || s != b.stages[Base] {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// warmUp runs each side once for nothing: the first run on fresh servers is slow, and so is the
// first of a fresh binary.
func (b *benchmark) warmUp(ctx context.Context) error {
	turns := b.plan.Turns()
	for _, t := range turns[:len(b.plan.sides())] {
		name := filepath.Join(warmUpDir, t.Side)
		out, err := b.one(ctx, t, name)
		if err != nil {
			return err
		}
		b.tell(Event{Side: t.Side, Name: name, Outcome: out, WarmUp: true, Turns: len(turns)})
	}
	return nil
}

// runs carries out all turns.
func (b *benchmark) runs(ctx context.Context) error {
	turns := b.plan.Turns()
	begun := time.Now()
	for i, t := range turns {
		out, err := b.one(ctx, t, t.Dir())
		if err != nil {
			return err
		}
		each := time.Since(begun) / time.Duration(i+1)
		b.tell(Event{Side: t.Side, Name: t.Dir(), Outcome: out, Done: i + 1, Turns: len(turns), Left: each * time.Duration(len(turns)-i-1)})
	}
	return nil
}

// one carries out one run and judges it. Pictures are left to those who want some: they
// would take longer than a short run does.
func (b *benchmark) one(ctx context.Context, t Turn, name string) (harness.Outcome, error) {
	sc := b.plan.Base
	run := b.stages[t.Side].Run
	if t.Side == Head {
		sc = b.plan.Head
		if b.plan.HeadClients != "" {
			run = b.stages[Head].RunOther
		}
	}
	sc = sc.Clone()
	sc.Seed = t.Seed
	dir := filepath.Join(b.dir, name)
	runErr := run(ctx, sc, dir)
	if _, err := os.Stat(dir); err != nil {
		return harness.Outcome{}, errors.Join(runErr, err)
	}
	out, err := harness.Check(dir)
	if err = errors.Join(runErr, err); err == nil {
		return out, nil
	}
	if out.Report.Verdict == check.Fail {
		b.tell(Event{Side: t.Side, Name: name, Outcome: out, WarmUp: true}) // it was seen, whatever else went wrong
	}
	err = fmt.Errorf("%s: %w", name, err)
	aside := filepath.Join(b.dir, unfinishedDir, strings.ReplaceAll(name, string(filepath.Separator), "-"))
	return out, errors.Join(err, os.MkdirAll(filepath.Dir(aside), 0o755), os.Rename(dir, aside))
}
