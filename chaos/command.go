package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"locklab/ensembles/agent"
)

// A command makes an agent do something.
type command = func(context.Context) (agent.Stamp, error)

// commandCap bounds the time that an agent may take to inject a fault. It normally takes milliseconds.
const commandCap = 10 * time.Second

// carryOut makes an agent inject a fault, and undoes it if that fails. It waits for the agent's answer even if ctx
// ends, because an agent may carry out an abandoned request after the request that undoes it.
func carryOut(ctx context.Context, c command, undo func(context.Context) (int64, error)) (at int64, err error) {
	return carryOutAll(ctx, []command{c}, undo)
}

// carryOutAll is carryOut for several agents at once. Either all of them do it, or it is undone. It returns the time
// at which the last agent did it.
func carryOutAll(ctx context.Context, all []command, undo func(context.Context) (int64, error)) (at int64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	once, cancel := context.WithTimeout(ctx, commandCap)
	defer cancel()
	at, err = carryOutOnce(once, all)
	if err == nil || len(all) == 1 && errors.Is(err, agent.ErrNoProcess) {
		return at, err // no harm is done to a process that is not there
	}
	clean, cancel := context.WithTimeout(ctx, healCap)
	defer cancel()
	if _, uerr := undo(clean); uerr != nil && !errors.Is(uerr, agent.ErrNoProcess) {
		err = errors.Join(err, fmt.Errorf("undo: %w", uerr))
	}
	return 0, err
}

// carryOutOnce sends all commands at once, and returns the time at which the last was carried out.
func carryOutOnce(ctx context.Context, all []command) (at int64, err error) {
	var mu sync.Mutex
	err = each(all, func(c command) error {
		st, err := c(ctx)
		mu.Lock()
		defer mu.Unlock()
		at = max(at, st.At)
		return err
	})
	return at, err
}
