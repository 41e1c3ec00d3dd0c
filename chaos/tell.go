package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"locklab/ensembles/agent"
)

// tell tells an agent to do harm, and takes it back if that fails. Once told, the
// agent is heard out also when ctx ends: a request that is given up may yet be
// carried out, after whatever is sent to undo it.
func tell(ctx context.Context, do order, undo func(context.Context) (int64, error)) (at int64, err error) {
	return tellAll(ctx, []order{do}, undo)
}

// An order is what an agent is told.
type order = func(context.Context) (agent.Stamp, error)

// tellAll is tell for several agents at once: either all do it, or it is undone. The
// time is when the last had done it.
func tellAll(ctx context.Context, do []order, undo func(context.Context) (int64, error)) (at int64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	once, cancel := context.WithTimeout(ctx, tellCap)
	defer cancel()
	at, err = tellOnce(once, do)
	if err == nil || len(do) == 1 && errors.Is(err, agent.ErrNoProcess) {
		return at, err // a process that is not there comes to no harm
	}
	clean, cancel := context.WithTimeout(ctx, healCap)
	defer cancel()
	if _, uerr := undo(clean); uerr != nil && !errors.Is(uerr, agent.ErrNoProcess) {
		err = errors.Join(err, fmt.Errorf("undo: %w", uerr))
	}
	return 0, err
}

// tellCap is how long an agent may take to do harm. It takes milliseconds.
const tellCap = 10 * time.Second

// tellOnce gives all orders at once, and returns when the last was carried out.
func tellOnce(ctx context.Context, do []order) (at int64, err error) {
	var mu sync.Mutex
	err = each(do, func(f order) error {
		st, err := f(ctx)
		mu.Lock()
		defer mu.Unlock()
		at = max(at, st.At)
		return err
	})
	return at, err
}
