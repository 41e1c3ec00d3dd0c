package serve

import (
	"context"
	"time"
)

// A lease lapses unless it is renewed in time. It is counted in parts: while the machine stands still, or is too busy
// to run this process, the harness cannot renew it either, and such a time counts as no more than one part.
type lease struct {
	part    time.Duration
	after   func(time.Duration) <-chan time.Time
	renewed chan struct{}
}

// leaseParts is how many parts a lease has.
const leaseParts = 16

func newLease(length time.Duration) *lease {
	return &lease{part: length / leaseParts, after: time.After, renewed: make(chan struct{}, 1)}
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
	over := l.after(l.part)
	for left := leaseParts; ; over = l.after(l.part) {
		select {
		case <-l.renewed:
			left = leaseParts
		case <-over:
			if left--; left == 0 {
				return true
			}
		case <-ctx.Done():
			return false
		}
	}
}
