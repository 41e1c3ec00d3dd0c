package series

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/scenario"
	"locklab/recipes/broken"
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

// ByLab returns the known bugs that have a scenario. Those that can share a lab follow one another; otherwise they are
// in the order of the table.
func ByLab() (all []broken.Lock, err error) {
	labs := map[string]int{} // by their settings
	lab := map[string]int{}  // by the names of the bugs
	for _, bug := range broken.Known() {
		if !bug.Shown() {
			continue
		}
		sc, err := scenario.OfBug(bug)
		if err != nil {
			return nil, err
		}
		settings := run.LabSettings(sc, nil)
		if _, ok := labs[settings]; !ok {
			labs[settings] = len(labs)
		}
		lab[bug.Name] = labs[settings]
		all = append(all, bug)
	}
	slices.SortStableFunc(all, func(a, b broken.Lock) int { return cmp.Compare(lab[a.Name], lab[b.Name]) })
	return all, nil
}

// A Reproduction is what came of the attempts to make a known bug show.
type Reproduction struct {
	Bug      broken.Lock
	Attempts int
	// Finding is what the check found that must find the bug, of one of the kinds that the table names; nil = it did not.
	Finding *evidence.Finding
	// Outcome is the outcome of the last attempt.
	Outcome judge.Outcome
}

// Reproduce runs the scenario of a known bug until the check that must find the bug has found it, or for a number of
// attempts, each with another seed and a run directory of its own below dir. An error ends the attempts.
func (l *Labs) Reproduce(ctx context.Context, bug broken.Lock, dir string, attempts int) (Reproduction, error) {
	return reproduce(ctx, bug, dir, attempts, l.Run)
}

func reproduce(ctx context.Context, bug broken.Lock, dir string, attempts int,
	carryOut func(context.Context, Job) (judge.Outcome, error)) (done Reproduction, err error) {
	done.Bug = bug
	for done.Finding == nil && done.Attempts < attempts {
		sc, err := scenario.OfBug(bug)
		if err != nil {
			return done, err
		}
		done.Attempts++
		sc.Seed = uint64(done.Attempts)
		job := Job{Scenario: sc, Dir: filepath.Join(dir, fmt.Sprintf("attempt-%d", done.Attempts))}
		if done.Outcome, err = carryOut(ctx, job); err != nil {
			return done, err
		}
		done.Finding = done.Outcome.Report.Found(string(bug.Check), bug.Kinds, bug.Cause)
	}
	return done, nil
}
