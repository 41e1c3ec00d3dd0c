package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/ensembles/agent"
)

// ErrUnsupported is wrapped by the error of a fault that this machine cannot do,
// with the capability that it lacks.
var ErrUnsupported = errors.New("not supported here")

// A Fault does one kind of harm to hosts that are already chosen.
//
// Inject returns once the harm is done, or an error if none was: what it may have
// done before it failed, or was interrupted, it has undone. What it returns must
// be healed even if verifying fails.
type Fault interface {
	Inject(ctx context.Context) (*Harm, error)
}

// tell tells an agent to do harm, and takes it back if that fails. Once told, the
// agent is heard out also when ctx ends: a request that is given up may yet be
// carried out, after whatever is sent to undo it.
func tell(ctx context.Context, do func(context.Context) (agent.Stamp, error), undo func(context.Context) (int64, error)) (at int64, err error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	ctx = context.WithoutCancel(ctx)
	once, cancel := context.WithTimeout(ctx, tellCap)
	defer cancel()
	st, err := do(once)
	if err == nil || errors.Is(err, agent.ErrNoProcess) {
		return st.At, err // a process that is not there comes to no harm
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

// Harm is a fault in force. Its functions may each be called several times.
type Harm struct {
	// At is when it took hold, in ns of CLOCK_MONOTONIC, as stamped by an agent.
	At int64
	// Hosts are the names of the hosts hit.
	Hosts []string
	// Verify reports, by looking for the effect, why the harm is not in force.
	Verify func(context.Context) error
	// Heal undoes it and returns when.
	Heal func(context.Context) (at int64, err error)
	// VerifyHealed reports why the effect is not over, after waiting for that
	// within ctx.
	VerifyHealed func(context.Context) error
}
