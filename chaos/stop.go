package chaos

import (
	"context"
	"fmt"
)

// Stop asks a process to end (SIGTERM), as an orderly shutdown does, and kills it only after
// its grace. It heals by starting it again.
type Stop struct{ Process }

// Inject asks the process to end and returns once it is gone.
func (s Stop) Inject(ctx context.Context) (*Harm, error) {
	at, err := tell(ctx, s.Host.Agent.Stop, s.start)
	if err != nil {
		return nil, fmt.Errorf("stop %s: %w", s.Host.Name, err)
	}
	return s.harm(at), nil
}
