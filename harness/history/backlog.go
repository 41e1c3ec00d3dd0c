package history

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"time"
)

// mostUncollected is how many segments of a history may be there before [Recorder.AwaitCollector] waits. It then waits
// until half of them are gone, so that it waits seldom and long rather than often and short.
const mostUncollected = 16

// A backlog is the part of a history that an [Outbox] still has. If nobody collects the history, the backlog is taken
// to be empty.
type backlog struct {
	dir string
	// first is the first segment that was seen to be there.
	first atomic.Int64
	// turn is taken by the one goroutine that waits for the backlog to shrink. The others wait for their turn.
	turn chan struct{}
}

func newBacklog(dir string) backlog { return backlog{dir: dir, turn: make(chan struct{}, 1)} }

// exceeds reports whether more than a number of the segments, of which there are so many in all, are still there.
func (b *backlog) exceeds(most, segments int64) bool {
	first := b.first.Load()
	for segments-first > most {
		if _, err := os.Stat(segmentName(b.dir, first)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		first++
	}
	b.first.Store(first)
	return first > 0 && segments-first > most
}

// AwaitCollector waits while much of the history has yet to be collected, so that a process that records faster than
// its record can be collected is slowed down before the host's memory is full. It records how long it waited, as an
// event of [OpSlowed]. Callers wait where nothing is measured: before an operation begins, and never between its
// invocation and its return.
//
// It returns at once if nobody collects the history. If ctx ends first, it returns the cause.
func (r *Recorder) AwaitCollector(ctx context.Context) error {
	if r.segments.Load()-r.backlog.first.Load() <= mostUncollected {
		return nil
	}
	select {
	case r.backlog.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.backlog.turn }()
	if !r.backlog.exceeds(mostUncollected, r.segments.Load()) {
		return nil
	}
	begun := r.clock.Now()
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	var err error
	for err == nil && r.backlog.exceeds(mostUncollected/2, r.segments.Load()) {
		select {
		case <-poll.C:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	now := r.clock.Now()
	return errors.Join(err, r.Record(SlowedFor(now, time.Duration(now-begun))))
}
