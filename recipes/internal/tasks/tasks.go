package tasks

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// A Set is a set of goroutines with one owner, which waits for them. Unlike a bare WaitGroup, it refuses to start a
// goroutine once its owner waits.
type Set struct {
	mu     sync.Mutex
	closed bool
	wg     sync.WaitGroup
}

// Start runs f in a goroutine, or returns false if the owner has begun to wait.
func (t *Set) Start(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.wg.Go(f)
	return true
}

// Wait refuses further goroutines and waits for those that run.
func (t *Set) Wait() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.wg.Wait()
}

// HandOver runs work in a goroutine and returns its result. If ctx ends first it returns at once, and a result that
// comes later goes to late, so that exactly one party owns it. over returns why no more goroutines can be started.
func HandOver[T any](
	ctx context.Context,
	tasks *Set,
	over func() error,
	work func(context.Context) (T, error),
	late func(T),
) (T, error) {
	var none T
	type answer struct {
		v   T
		err error
	}
	answers := make(chan answer) // unbuffered, so an answer is either taken or late
	started := tasks.Start(func() {
		v, err := work(ctx)
		select {
		case answers <- answer{v, err}:
		case <-ctx.Done():
			if err == nil {
				late(v)
			}
		}
	})
	if !started {
		return none, over()
	}
	select {
	case a := <-answers:
		return a.v, a.err
	case <-ctx.Done():
		return none, Ended(ctx)
	}
}

// Ended returns why ctx ended, in a way that is both its standard error and its cause.
func Ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

type toldKey struct{}

// Tell returns a context which says that somebody has been told of a failure that goes on, so that it need not be
// logged again.
func Tell(ctx context.Context) context.Context { return context.WithValue(ctx, toldKey{}, true) }

// Told reports whether a context says that.
func Told(ctx context.Context) bool { return ctx.Value(toldKey{}) != nil }

// Closed reports whether a channel is closed that nothing is sent on. A nil channel is not.
func Closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
