package tasks

import (
	"context"
	"time"
)

// A graced context ends as the one within, but later.
type graced struct {
	context.Context
	done     chan struct{}
	earliest time.Time
}

func (g *graced) Done() <-chan struct{} { return g.done }

func (g *graced) Err() error {
	select {
	case <-g.done:
		return g.Context.Err()
	default:
		return nil
	}
}

func (g *graced) Deadline() (time.Time, bool) {
	d, ok := g.Context.Deadline()
	if ok && d.Before(g.earliest) {
		d = g.earliest
	}
	return d, ok
}

// Grace returns a context that ends as ctx does, but not before d has passed. It is for work that should be tried even
// if its caller is out of time. The caller calls stop when the work is over.
func Grace(ctx context.Context, d time.Duration) (_ context.Context, stop func()) {
	if ctx.Done() == nil {
		return ctx, func() {}
	}
	g := &graced{ctx, make(chan struct{}), time.Now().Add(d)}
	over := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		if left := time.Until(g.earliest); left > 0 {
			select {
			case <-time.After(left):
			case <-over:
				return
			}
		}
		close(g.done)
	})
	return g, func() {
		unhook()
		close(over)
	}
}
