package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"locklab/harness/history"
)

// A Step is one fault of a schedule: when, what, for how long.
type Step struct {
	// ID names the fault in the history, e.g. f1.
	ID string
	// Kind is the fault's kind, e.g. pause.
	Kind string
	// At is when to begin, after the schedule's start.
	At time.Duration
	// Fault chooses its hosts at that moment and returns the fault.
	Fault func(context.Context) (Fault, error)
	// Until waits for the moment to heal. It must respect ctx.
	Until func(ctx context.Context, harm *Harm) error
}

// Hold is an Until that waits for a fixed time after the injection.
func Hold(clock history.Clock, d time.Duration) func(context.Context, *Harm) error {
	return func(ctx context.Context, h *Harm) error {
		return waitUntil(ctx, clock.Time(h.At).Add(d))
	}
}

// Journal takes a run's events.
type Journal interface {
	Record(history.Event) error
}

// A Schedule is the faults of a run.
type Schedule struct {
	Steps   []Step
	Journal Journal
	Clock   history.Clock
	// InForce is told which faults are in force whenever that changes, in words.
	InForce func([]string)
}

// Caps on single parts of a fault. They are generous: running into one is a
// finding, not a way to go on.
const (
	injectCap = 60 * time.Second
	verifyCap = 10 * time.Second
	healCap   = 20 * time.Second
	healedCap = 60 * time.Second
)

// Run carries the schedule out from start on and returns once every fault is
// healed, also when ctx ends in the middle: healing has a context of its own.
// Each fault's failure is recorded and does not keep the others from running.
func (s *Schedule) Run(ctx context.Context, start time.Time) error {
	var wg sync.WaitGroup
	force := &inForce{tell: s.InForce, names: map[string]string{}}
	errs := make([]error, len(s.Steps))
	for i, step := range s.Steps {
		wg.Go(func() {
			if waitUntil(ctx, start.Add(step.At)) != nil {
				return // interrupted before it began
			}
			errs[i] = s.run(ctx, step, force)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (s *Schedule) run(ctx context.Context, step Step, force *inForce) (err error) {
	record := func(op string, kind history.Kind, at int64, hosts []string, detail string) {
		err = errors.Join(err, s.Journal.Record(history.Event{At: at, Op: op, Kind: kind, Fault: step.ID, Mode: step.Kind,
			Target: strings.Join(hosts, ","), Detail: detail}))
	}
	// try records what f came to.
	var harm *Harm
	try := func(op string, f func() (int64, error)) bool {
		at, ferr := f()
		kind, detail := history.OK, ""
		var hosts []string
		if harm != nil {
			hosts = harm.Hosts
		}
		if ferr != nil {
			kind, detail = history.Fail, ferr.Error()
			err = errors.Join(err, fmt.Errorf("fault %s: %w", step.ID, ferr))
		}
		record(op, kind, at, hosts, detail)
		return ferr == nil
	}
	record(history.OpFaultInject, history.Invoke, 0, nil, "")
	injected := try(history.OpFaultInject, func() (int64, error) {
		ctx, cancel := context.WithTimeout(ctx, injectCap)
		defer cancel()
		fault, err := step.Fault(ctx)
		if err != nil {
			return 0, err
		}
		h, err := fault.Inject(ctx)
		if h == nil {
			return 0, err
		}
		harm = h
		return h.At, err
	})
	if harm == nil {
		return err
	}
	// Harm that was done is healed, whatever else was wrong with it; and at once if
	// it is not the harm that was to be done.
	force.set(step.ID, step.Kind+" "+strings.Join(harm.Hosts, ","))
	defer force.set(step.ID, "")
	if injected {
		try(history.OpFaultVerify, func() (int64, error) {
			ctx, cancel := context.WithTimeout(ctx, verifyCap)
			defer cancel()
			return 0, harm.Verify(ctx)
		})
		if werr := step.Until(ctx, harm); werr != nil && ctx.Err() == nil {
			err = errors.Join(err, fmt.Errorf("fault %s: %w", step.ID, werr))
		}
	}
	// From here on an interrupt must not leave the harm behind.
	after := context.WithoutCancel(ctx)
	healed := try(history.OpFaultHeal, func() (int64, error) {
		ctx, cancel := context.WithTimeout(after, healCap)
		defer cancel()
		return harm.Heal(ctx)
	})
	if healed {
		try(history.OpFaultHealVerify, func() (int64, error) {
			ctx, cancel := context.WithTimeout(after, healedCap)
			defer cancel()
			return 0, harm.VerifyHealed(ctx)
		})
	}
	return err
}

// waitUntil waits for a time or the end of ctx.
func waitUntil(ctx context.Context, at time.Time) error {
	t := time.NewTimer(time.Until(at))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
