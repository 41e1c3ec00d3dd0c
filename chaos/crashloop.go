package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check"
)

func crashLoopKind() Kind {
	return Kind{
		Name: "crash-loop", Family: FamilyProcess, Targets: OnServer | OnClient | OnResource,
		Outage: true, Slot: slotProcess,
		Nature: check.FaultNature{Cause: causeKill, SilencesLeader: true, Lingers: true},
		Does: "kills the process, and kills it again each time it has started, at most 20 times; heals by letting " +
			"it run",
		Verified: "the process has crashed more than once; after healing, as for `kill`",
		Examples: []string{"target: c1", "target: zk1"},
		injector: onEach(func(r *Run, _ injection, h *ensembles.Host) (Injector, error) {
			return crashLoop{Process: r.Process(h)}, nil
		}),
	}
}

// crashLoop kills a process, starts it again, and kills it each time it has come up. It heals by letting the process
// run.
type crashLoop struct {
	Process
	// Most is how many times the process is killed, at most; 0 = 20. After that, the process is left running.
	most int
}

// crashPause is how long a process works after it has come up, before it is killed again.
const crashPause = 100 * time.Millisecond

// Inject kills the process for the first time and returns once it is gone.
func (c crashLoop) Inject(ctx context.Context) (*Harm, error) {
	at, err := carryOut(ctx, c.Host.Agent.Kill, c.start)
	if err != nil {
		return nil, fmt.Errorf("crash loop of %s: %w", c.Host.Name, err)
	}
	most := c.most
	if most == 0 {
		most = 20
	}
	// The loop ends when the fault is healed, and every fault is healed, whatever happens.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var crashes atomic.Int64
	crashes.Store(1)
	var loop sync.WaitGroup
	loop.Go(func() {
		for crashes.Load() < int64(most) {
			if c.crash(life) != nil {
				return
			}
			crashes.Add(1)
		}
	})
	h := c.harm(at)
	h.Verify = func(ctx context.Context) error {
		return ensembles.Poll(ctx, pollEvery, "process of "+c.Host.Name+" to crash again", func() error {
			switch n := crashes.Load(); {
			case life.Err() != nil:
				return errors.New("the loop has ended")
			case n < 2:
				return fmt.Errorf("it has crashed %d times", n)
			}
			return nil
		})
	}
	h.Heal = func(ctx context.Context) (int64, error) {
		end()
		loop.Wait()
		return c.start(ctx)
	}
	heard := h.VerifyHealed
	h.VerifyHealed = func(ctx context.Context) error {
		if life.Err() == nil {
			return errors.New("the loop goes on")
		}
		return heard(ctx)
	}
	return h, nil
}

// crash starts the process, lets it come up, and kills it.
func (c crashLoop) crash(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// A start is never interrupted, because a process that is started half-way waits for its instructions forever.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
	defer cancel()
	if _, err := c.start(whole); err != nil {
		return err
	}
	err := ensembles.Poll(ctx, pollEvery, "process of "+c.Host.Name+" to come up", func() error { return c.up(ctx) })
	if err != nil {
		return err
	}
	if err := waitUntil(ctx, time.Now().Add(crashPause)); err != nil {
		return err
	}
	_, err = carryOut(ctx, c.Host.Agent.Kill, c.start)
	if errors.Is(err, agent.ErrNoProcess) {
		return nil // it has ended by itself
	}
	return err
}
