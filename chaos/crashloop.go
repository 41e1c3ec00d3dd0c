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
)

func crashLoopKind() Kind {
	return endingKind(Kind{
		Name: "crash-loop",
		Does: "kills the process, and kills it again each time it has started, at most 20 times; heals by letting " +
			"it run",
		Verified: "the process has crashed more than once; after healing, as for `kill`",
		Examples: []string{"target: c1", "target: zk1"},
	}, func(p Process, ctx context.Context) (*Harm, error) { return p.crashLoop(ctx, mostCrashes) })
}

// mostCrashes is how many times a crash loop kills its process, at most. After that, the process is left running.
const mostCrashes = 20

// crashPause is how long a process works after it has come up, before it is killed again.
const crashPause = 100 * time.Millisecond

// crashLoop kills the process for the first time and returns once it is gone. While the fault is in force, it starts
// the process and kills it each time it has come up. It heals by letting the process run.
func (p Process) crashLoop(ctx context.Context, most int64) (*Harm, error) {
	h, err := p.kill(ctx)
	if err != nil {
		return nil, err
	}
	// The loop ends when the fault is healed, and every fault is healed, whatever happens.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	var crashes atomic.Int64
	crashes.Store(1)
	var loop sync.WaitGroup
	loop.Go(func() {
		for crashes.Load() < most {
			if p.crash(life) != nil {
				return
			}
			crashes.Add(1)
		}
	})
	h.Verify = func(ctx context.Context) error {
		return ensembles.Poll(ctx, pollEvery, "process of "+p.Host.Name+" to crash again", func() error {
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
		return p.start(ctx)
	}
	back := h.VerifyHealed
	h.VerifyHealed = func(ctx context.Context) error {
		if life.Err() == nil {
			return errors.New("the loop goes on")
		}
		return back(ctx)
	}
	return h, nil
}

// crash starts the process, lets it come up, and kills it.
func (p Process) crash(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// A start is never interrupted, because a process that is started half-way waits for its instructions forever.
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
	defer cancel()
	if _, err := p.start(whole); err != nil {
		return err
	}
	err := ensembles.Poll(ctx, pollEvery, "process of "+p.Host.Name+" to come up", func() error { return p.up(ctx) })
	if err != nil {
		return err
	}
	if err := waitUntil(ctx, time.Now().Add(crashPause)); err != nil {
		return err
	}
	_, err = carryOut(ctx, p.Host.Agent.Kill, p.start)
	if errors.Is(err, agent.ErrNoProcess) {
		return nil // it has ended by itself
	}
	return err
}
