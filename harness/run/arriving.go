package run

import (
	"context"
	"fmt"
	"time"
)

// An arriving is a writer that keeps a context alive as long as bytes arrive.
type arriving struct {
	silence time.Duration
	timer   *time.Timer
	cancel  context.CancelCauseFunc
}

// whileProgress returns a context that ends when nothing has been written for a while to the writer that comes with
// it.
func whileProgress(ctx context.Context, silence time.Duration) (context.Context, *arriving) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &arriving{silence: silence, cancel: cancel, timer: time.AfterFunc(silence, func() {
		cancel(fmt.Errorf("nothing arrived for %v: %w", silence, context.DeadlineExceeded))
	})}
}

// Write takes bytes that have arrived.
func (a *arriving) Write(b []byte) (int, error) {
	a.timer.Reset(a.silence)
	return len(b), nil
}

// stop ends the context.
func (a *arriving) stop() {
	a.timer.Stop()
	a.cancel(nil)
}
