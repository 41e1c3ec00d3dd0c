package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// RollingRestart restarts processes one after the other, as the upgrade of an ensemble does: each has
// to be back before the next one ends.
type RollingRestart struct {
	Processes []Process
}

// Inject restarts the first. The others follow while the fault is in force, until [Harm].Over; healing
// it before that leaves those out whose turn has not come.
func (r RollingRestart) Inject(ctx context.Context) (*Harm, error) {
	if len(r.Processes) == 0 {
		return nil, errors.New("rolling restart of nobody")
	}
	first, err := (Restart{r.Processes[0]}).Inject(ctx)
	if err != nil {
		return first, fmt.Errorf("rolling restart: %w", err)
	}
	h := &Harm{At: first.At, Verify: first.Verify}
	for _, p := range r.Processes {
		h.Hosts = append(h.Hosts, p.Host.Name)
	}
	// What has begun is brought to its end, whatever becomes of the run.
	rest := context.WithoutCancel(ctx)
	enough, over := make(chan struct{}), make(chan struct{})
	last := first
	var rolled error
	go func() {
		defer close(over)
		for _, p := range r.Processes[1:] {
			if rolled = backWithin(rest, last); rolled != nil {
				return
			}
			select {
			case <-enough:
				return
			default:
			}
			next, err := (Restart{p}).Inject(rest)
			if next != nil {
				last = next
			}
			if rolled = err; err != nil {
				return
			}
		}
	}()
	h.Over = func(ctx context.Context) error {
		select {
		case <-over:
			return nil // whether it went well is for the healing to say
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	stop := sync.OnceFunc(func() { close(enough) })
	h.Heal = func(ctx context.Context) (int64, error) {
		stop()
		if err := h.Over(ctx); err != nil {
			return 0, err
		}
		at, err := last.Heal(ctx)
		err, rolled = errors.Join(rolled, err), nil // told once: it does not keep anything from being healed
		return at, err
	}
	h.VerifyHealed = func(ctx context.Context) error {
		select {
		case <-over:
			return last.VerifyHealed(ctx)
		default:
			return errors.New("the restarts go on")
		}
	}
	return h, nil
}

// backWithin waits until a restarted process is back, as long as any healing may take.
func backWithin(ctx context.Context, h *Harm) error {
	ctx, cancel := context.WithTimeout(ctx, healedCap)
	defer cancel()
	return h.VerifyHealed(ctx)
}
