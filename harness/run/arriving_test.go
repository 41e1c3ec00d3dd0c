package run

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"locklab/harness/history"
	"locklab/harness/watch"
)

// A transfer may take any time as long as something arrives, and ends when nothing does.
func TestWhileProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, arriving := whileProgress(t.Context(), silenceCap)
		defer arriving.stop()
		for range 100 {
			time.Sleep(silenceCap - time.Second)
			if _, err := arriving.Write([]byte("x")); err != nil || ctx.Err() != nil {
				t.Fatalf("%v, %v", err, context.Cause(ctx))
			}
		}
		last := time.Now()
		<-ctx.Done()
		if waited := time.Since(last); waited != silenceCap || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			t.Errorf("ended after %v: %v", waited, context.Cause(ctx))
		}
	})
}

// Clients are waited for until their time is up. If their record has not come that far by then, they are waited for as
// long as it arrives.
func TestAwaitRecorded(t *testing.T) {
	const until = 60 * time.Second
	for name, c := range map[string]struct {
		// speed is how much of the record arrives in a second, until it has all arrived; the record is as long as written.
		speed, written time.Duration
		done           bool // the last event says that the clients are done
		ends           time.Duration
	}{
		"done in time":           {time.Second, 30 * time.Second, true, 30 * time.Second},
		"done in time, and late": {time.Second / 4, 50 * time.Second, true, 200 * time.Second},
		"never done":             {time.Second, 10 * time.Hour, false, 61 * time.Second},
		"never done, and late":   {time.Second / 2, 10 * time.Hour, false, 121 * time.Second},
		"silent":                 {time.Second, 20 * time.Second, false, 60 * time.Second},
		"silent, and late":       {time.Second / 2, 40 * time.Second, false, 91 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := history.NewClock()
				begin := clock.Now()
				view := watch.NewView(watch.Config{Clock: clock})
				feed := view.Feed(nil)
				ctx, cancel := context.WithCancel(t.Context())
				var feeding sync.WaitGroup
				defer feeding.Wait()
				defer cancel()
				feeding.Go(func() {
					for reached := time.Duration(0); reached < c.written && ctx.Err() == nil; {
						time.Sleep(time.Second)
						reached += c.speed
						e := history.Event{At: begin + int64(reached), Process: "c1", Client: "c1/0", Op: history.OpQueued, Lock: "/l"}
						if c.done && reached >= c.written {
							e.Op = history.OpDone
						}
						_, _ = feed.Write(history.Encode(e))
					}
				})
				err := awaitRecorded(ctx, view, clock, begin+int64(until), []string{"c1"},
					func(now watch.State) bool { return now.Done("c1") })
				if took := time.Duration(clock.Now() - begin); took < c.ends-time.Second || took > c.ends+time.Second {
					t.Errorf("ended after %v, want %v", took, c.ends)
				}
				if c.done != (err == nil) || err != nil && !strings.Contains(err.Error(), "clients of c1 are not done") {
					t.Errorf("done %v: %v", c.done, err)
				}
			})
		})
	}
}
