package chaos

import (
	"context"
	"fmt"
)

// Kill ends a process without warning (SIGKILL) and heals by starting it again on the same
// address. A server finds its data again.
type Kill struct{ Process }

// Inject kills the process and returns once it is gone.
func (k Kill) Inject(ctx context.Context) (*Harm, error) {
	at, err := tell(ctx, k.Host.Agent.Kill, k.start)
	if err != nil {
		return nil, fmt.Errorf("kill %s: %w", k.Host.Name, err)
	}
	return k.harm(at), nil
}
