package chaos

import (
	"context"
	"errors"
)

// ErrUnsupported is wrapped by the error of a fault that this machine cannot do,
// with the capability that it lacks.
var ErrUnsupported = errors.New("not supported here")

// A Fault does one kind of harm to hosts that are already chosen.
//
// Inject returns once the harm is done, or an error if none was. What it returns
// must be healed even if verifying fails.
type Fault interface {
	Inject(ctx context.Context) (*Harm, error)
}

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
