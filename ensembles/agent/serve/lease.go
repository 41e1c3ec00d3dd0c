package serve

import (
	"context"
	"time"
)

// A lease lapses unless it is renewed in time.
type lease struct {
	length  time.Duration
	renewed chan struct{}
}

func newLease(length time.Duration) *lease {
	return &lease{length: length, renewed: make(chan struct{}, 1)}
}

// renew never blocks.
func (l *lease) renew() {
	select {
	case l.renewed <- struct{}{}:
	default:
	}
}

// lapsed waits until the lease has lapsed (true) or ctx ends (false).
func (l *lease) lapsed(ctx context.Context) bool {
	t := time.NewTimer(l.length)
	defer t.Stop()
	for {
		select {
		case <-l.renewed:
			t.Reset(l.length)
		case <-t.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
}
