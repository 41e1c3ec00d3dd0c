package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"locklab/ensembles"
)

// reconnects keeps track of whether the clients of a lab have come back after its faults. Its methods may be called
// concurrently.
type reconnects struct {
	mu      sync.Mutex
	inForce int
}

// reconnecting is a fault that is over only when the clients are connected again. If another fault is in force that
// may keep clients away, the last one of them waits for the clients.
type reconnecting struct {
	Injector
	among *reconnects
	// away returns the clients of running processes that have lost their connection.
	away func() []string
}

func (r reconnecting) Inject(ctx context.Context) (*Harm, error) {
	harm, err := r.Injector.Inject(ctx)
	if harm == nil {
		return nil, err
	}
	r.among.add(1)
	undone := sync.OnceFunc(func() { r.among.add(-1) })
	h := *harm
	if harm.Heal != nil {
		h = *harm.whenHealed(undone)
	}
	h.VerifyHealed = func(ctx context.Context) error {
		if harm.Heal == nil {
			undone() // a fault that is over at once keeps no client away
		}
		if err := harm.VerifyHealed(ctx); err != nil {
			return err
		}
		return r.back(ctx)
	}
	return &h, err
}

func (r *reconnects) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inForce += n
}

func (r *reconnects) harmed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inForce > 0
}

// back waits until each client that is away now has been connected again, if only for a moment, or until another
// fault is in force.
func (r reconnecting) back(ctx context.Context) error {
	missing := r.away()
	return ensembles.Poll(ctx, pollEvery, "the clients to be connected again", func() error {
		away := r.away()
		missing = slices.DeleteFunc(missing, func(c string) bool { return !slices.Contains(away, c) })
		if len(missing) == 0 || r.among.harmed() {
			return nil
		}
		return fmt.Errorf("%d are not, such as %s", len(missing), missing[0])
	})
}
