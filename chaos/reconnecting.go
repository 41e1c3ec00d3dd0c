package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"locklab/ensembles"
)

// Reconnects tells whether the clients of a lab have come back after its faults. Its methods may be called at once.
type Reconnects struct {
	// Away returns the clients that have lost their connection, of the processes that run.
	Away func() []string

	mu      sync.Mutex
	inForce int
}

// Reconnecting is a fault that is not over before the clients are connected again. Where another is in force that may
// keep them away, the last one of them looks.
type Reconnecting struct {
	Fault
	Among *Reconnects
}

// Inject does the harm.
func (r Reconnecting) Inject(ctx context.Context) (*Harm, error) {
	harm, err := r.Fault.Inject(ctx)
	if harm == nil {
		return nil, err
	}
	r.Among.add(1)
	undone := sync.OnceFunc(func() { r.Among.add(-1) })
	h := *harm
	if harm.Heal != nil {
		h.Heal = func(ctx context.Context) (int64, error) {
			at, err := harm.Heal(ctx)
			if err == nil {
				undone()
			}
			return at, err
		}
	}
	h.VerifyHealed = func(ctx context.Context) error {
		if harm.Heal == nil {
			undone() // what is over at once keeps nobody away
		}
		if err := harm.VerifyHealed(ctx); err != nil {
			return err
		}
		return r.Among.back(ctx)
	}
	return &h, err
}

func (r *Reconnects) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inForce += n
}

// harmed reports whether any fault is in force.
func (r *Reconnects) harmed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inForce > 0
}

// back waits until each client that is away now was connected again, if only for a moment, or another fault is in force.
func (r *Reconnects) back(ctx context.Context) error {
	missing := r.Away()
	return ensembles.Poll(ctx, pollEvery, "the clients to be connected again", func() error {
		away := r.Away()
		missing = slices.DeleteFunc(missing, func(c string) bool { return !slices.Contains(away, c) })
		if len(missing) == 0 || r.harmed() {
			return nil
		}
		return fmt.Errorf("%d are not, such as %s", len(missing), missing[0])
	})
}
