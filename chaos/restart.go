package chaos

import (
	"context"
	"fmt"
)

// Restart ends a process in an orderly way and starts it again at once, as an upgrade does.
type Restart struct{ Process }

// Inject returns once the process has been started again. What is left to heal is only that
// it has to come back to its work.
func (r Restart) Inject(ctx context.Context) (*Harm, error) {
	before, err := r.Host.Agent.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("restart %s: %w", r.Host.Name, err)
	}
	at, err := tell(ctx, r.Host.Agent.Stop, r.start)
	if err != nil {
		return nil, fmt.Errorf("restart %s: %w", r.Host.Name, err)
	}
	h := r.harm(at)
	// It is verified by there being another process.
	h.Verify = func(ctx context.Context) error {
		now, err := r.Host.Agent.Status(ctx)
		if err == nil && (now.Starts <= before.Starts || now.PID == before.PID) {
			err = fmt.Errorf("%s still runs process %d", r.Host.Name, before.PID)
		}
		return err
	}
	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), healCap)
	defer cancel()
	if _, err := r.start(back); err != nil {
		return h, fmt.Errorf("restart %s: %w", r.Host.Name, err)
	}
	return h, nil
}
