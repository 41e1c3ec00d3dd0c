package simulate

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// Branches is how many runs go on from a step.
const Branches = 20

// coarse is at how many steps branches are tried at first, which are then filled in around the one that decides.
const coarse = 20

// branch finds out from which step on the violation can hardly be avoided: it goes on from each with other randomness.
func (x *Shrunk) branch(ctx context.Context) error {
	every := len(x.Steps)/coarse + 1
	err := x.branches(ctx, 0, len(x.Steps), every)
	if from, to, _, _ := x.rise(); err == nil && every > 1 {
		err = x.branches(ctx, from, to, (to-from)/coarse+1)
	}
	return err
}

// branches goes on from some steps.
func (x *Shrunk) branches(ctx context.Context, from, to, every int) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := from; i < to; i += every {
		if s := &x.Steps[i]; s.Still == nil && (i+1 == len(x.Steps) || x.Steps[i+1].At > s.At) {
			g.Go(func() error {
				s.Still = new(int)
				for n := range uint64(Branches) {
					p := *x.plan
					p.forks, p.fork = s.At+1, p.draws+1+n
					if slices.ContainsFunc(execute(&p).Findings(), x.Finding.same) {
						*s.Still++
					}
					if ctx.Err() != nil {
						return ctx.Err()
					}
				}
				return nil
			})
		}
	}
	return g.Wait()
}

// rise returns the two steps between which the share of runs that show the violation rises most, and what it is there.
func (x *Shrunk) rise() (from, to, before, after int) {
	last := -1
	for i, s := range x.Steps {
		if s.Still == nil {
			continue
		}
		if last < 0 {
			from, to, before, after = i, i, *s.Still, *s.Still
		} else if was := *x.Steps[last].Still; *s.Still-was > after-before {
			from, to, before, after = last, i, was, *s.Still
		}
		last = i
	}
	return from, to, before, after
}

// Decides names the step after which the share of runs that show the violation rises most.
func (x *Shrunk) Decides() string {
	_, at, before, after := x.rise()
	if after-before <= Branches/5 {
		return fmt.Sprintf("No step decides: of %d runs that go on otherwise after the first, %d show it.", Branches,
			before)
	}
	return fmt.Sprintf("Step %d decides (%s): of %d runs that go on otherwise before it, %d show the violation, and "+
		"of those that go on otherwise after it, %d.", at+1, x.Steps[at].Text, Branches, before, after)
}
