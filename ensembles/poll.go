package ensembles

import (
	"context"
	"fmt"
	"time"
)

// Poll calls f until it succeeds or ctx ends. Its error then says what it waited for, and wraps the last error of f.
func Poll(ctx context.Context, every time.Duration, what string, f func() error) error {
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		err := f()
		if err == nil {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w: %w", what, context.Cause(ctx), err)
		}
	}
}
