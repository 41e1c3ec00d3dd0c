package chaos

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"locklab/harness/history"
)

// A Step is one fault of a schedule.
type Step struct {
	// ID names the fault in the history, e.g. f1.
	ID string
	// Kind is the fault's kind, e.g. pause.
	Kind string
	// At is when to begin, after the schedule's start.
	At time.Duration
	// After is the ID of an earlier step that must be over before this one begins; empty = it waits for none.
	After string
	// Injector chooses the hosts at that moment and returns what injects the fault into them.
	Injector func(context.Context) (Injector, error)
	// Until waits for the moment to heal. It must respect ctx. It is not called for a fault that needs no healing,
	// and may be nil then.
	Until func(ctx context.Context, harm *Harm) error
}

// holdFor returns an Until that waits for a fixed time after the injection.
func holdFor(clock history.Clock, d time.Duration) func(context.Context, *Harm) error {
	return func(ctx context.Context, h *Harm) error {
		return waitUntil(ctx, clock.Time(h.At).Add(d))
	}
}

// A Journal records a run's events.
type Journal interface {
	Record(history.Event) error
}

// A Schedule is the faults of a run.
type Schedule struct {
	Steps   []Step
	Journal Journal
	Clock   history.Clock
	// InForce is called with the faults in force, in words, whenever they change.
	InForce func([]string)
	// Interrupted, if set, is closed when the run is interrupted. From then on, faults are healed, but no longer than
	// HurriedCap is spent on waiting for their effects, and for these to be over.
	Interrupted <-chan struct{}
}

// Caps on single parts of a fault. They are generous, because a part that reaches its cap is a finding, and not a way
// to go on.
const (
	injectCap = 60 * time.Second
	verifyCap = 10 * time.Second
	healCap   = 20 * time.Second
	healedCap = 60 * time.Second
)

// HurriedCap is how long a fault's effect, or a recovery, is waited for after an interrupt. Both show themselves within
// that time if they come at all, and one that never comes must not hold up the end of the run.
const HurriedCap = 5 * time.Second

// Hurried returns a context that ends after a time, or HurriedCap after interrupted is closed, whichever is first.
func Hurried(ctx context.Context, limit time.Duration, interrupted <-chan struct{}) (context.Context,
	context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	go func() {
		select {
		case <-interrupted:
			_ = waitUntil(ctx, time.Now().Add(HurriedCap))
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// Run carries the schedule out from start on, and returns once every fault is healed, even if ctx ends in the middle,
// because healing has a context of its own. A fault that fails is recorded and does not keep the others from running.
// If a fault was not healed, or was not seen to be healed, Run heals it once more when everything else is over. Even if
// the ensemble never recovers, Run returns within 2 * (healCap + healedCap) of the end of ctx, and of what was being
// injected or verified then.
func (s *Schedule) Run(ctx context.Context, start time.Time) error {
	var wg sync.WaitGroup
	force := &inForce{report: s.InForce, names: map[string]string{}}
	all := make([]attempt, len(s.Steps))
	over := make([]bool, len(s.Steps))
	ends := map[string]chan struct{}{} // by step
	for i, step := range s.Steps {
		all[i] = attempt{Schedule: s, step: step}
		end, before := make(chan struct{}), ends[step.After]
		ends[step.ID] = end
		wg.Go(func() {
			defer close(end)
			interrupted := waitUntil(ctx, start.Add(step.At)) != nil || before != nil && waitFor(ctx, before) != nil
			over[i] = interrupted || all[i].run(ctx, force)
		})
	}
	wg.Wait()
	for i := range all {
		if !over[i] {
			wg.Go(func() { all[i].heal(ctx) }) // at the same time, because each may wait for the same ensemble
		}
	}
	wg.Wait()
	var errs []error
	for i := range all {
		errs = append(errs, all[i].err)
	}
	return errors.Join(errs...)
}

// An attempt is one fault of a schedule while it is carried out.
type attempt struct {
	*Schedule
	step Step
	harm *Harm
	err  error // what went wrong so far
}

// try carries out a part of the fault, and records the outcome.
func (a *attempt) try(op history.Op, f func() (at int64, err error)) bool {
	at, err := f()
	kind, detail := history.OK, ""
	if err != nil {
		kind, detail = history.Fail, err.Error()
		switch {
		case a.harm != nil:
		case errors.Is(err, ErrUnsupported):
			op = history.OpFaultUnsupported
		case errors.Is(err, ErrNobody):
			op = history.OpFaultMissed
		}
		a.err = errors.Join(a.err, fmt.Errorf("fault %s: %w", a.step.ID, err))
	}
	a.record(op, kind, at, detail)
	return err == nil
}

func (a *attempt) record(op history.Op, kind history.Kind, at int64, detail string) {
	step := history.FaultStep{Op: op, ID: a.step.ID, Fault: a.step.Kind, Detail: detail}
	if a.harm != nil {
		step.Hosts = a.harm.Hosts
		if len(a.harm.Sessions) == 1 {
			step.Session = a.harm.Sessions[0]
		}
		if op == history.OpFaultInject && kind == history.OK {
			step.Detail = a.harm.done()
		}
	}
	e := step.Event(kind)
	e.At = at
	a.err = errors.Join(a.err, a.Journal.Record(e))
}

// run carries the fault out, and reports whether it is healed or was never injected.
func (a *attempt) run(ctx context.Context, force *inForce) (over bool) {
	a.record(history.OpFaultInject, history.Invoke, 0, "")
	injected := a.try(history.OpFaultInject, func() (int64, error) { return a.inject(ctx) })
	if a.harm == nil {
		return true
	}
	// Harm that was done is healed, whatever else went wrong with it. It is healed at once if it is not the harm that
	// was asked for.
	force.set(a.step.ID, a.step.Kind+" "+strings.Join(a.harm.Hosts, ","))
	defer force.set(a.step.ID, "")
	if injected {
		a.try(history.OpFaultVerify, func() (int64, error) {
			// The end of the window is no reason to give up, because the fault was injected within it or is completed.
			ctx, cancel := Hurried(context.WithoutCancel(ctx), verifyCap, a.Interrupted)
			defer cancel()
			return 0, a.harm.Verify(ctx)
		})
		if a.harm.Heal != nil {
			if err := a.step.Until(ctx, a.harm); err != nil && ctx.Err() == nil {
				a.err = errors.Join(a.err, fmt.Errorf("fault %s: %w", a.step.ID, err))
			}
		}
	}
	return a.heal(ctx)
}

func (a *attempt) inject(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, injectCap)
	defer cancel()
	injector, err := a.step.Injector(ctx)
	if err != nil {
		return 0, err
	}
	h, err := injector.Inject(ctx)
	if h == nil {
		return 0, err
	}
	a.harm = h
	return h.At, err
}

// heal undoes the harm, and reports whether that was seen. An interrupt must not leave the harm behind.
func (a *attempt) heal(ctx context.Context) bool {
	after := context.WithoutCancel(ctx)
	healed := a.try(history.OpFaultHeal, func() (int64, error) {
		ctx, cancel := context.WithTimeout(after, healCap)
		defer cancel()
		if a.harm.Heal == nil {
			return a.harm.At, nil // it was over as soon as it was done
		}
		return a.harm.Heal(ctx)
	})
	return healed && a.try(history.OpFaultHealVerify, func() (int64, error) {
		ctx, cancel := Hurried(after, healedCap, a.Interrupted)
		defer cancel()
		return 0, a.harm.VerifyHealed(ctx)
	})
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

// waitFor waits until a channel is closed or ctx ends.
func waitFor(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return context.Cause(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// inForce keeps the list of the faults in force, and reports the list whenever it changes.
type inForce struct {
	report func([]string)

	mu    sync.Mutex
	names map[string]string
}

// set says what a fault does now. An empty text removes the fault from the list.
func (f *inForce) set(id, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if what == "" {
		delete(f.names, id)
	} else {
		f.names[id] = what
	}
	if f.report != nil {
		f.report(slices.Sorted(maps.Values(f.names)))
	}
}
