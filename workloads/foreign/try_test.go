package foreign

import (
	"context"
	"errors"
	"testing"
	"time"

	"locklab/recipes"
)

// A try reaches the command as a wait of 0, whether or not the command says where it is in the queue. A timeout means
// that it would have had to wait, unless it comes because the command did not answer in time.
func TestTry(t *testing.T) {
	const (
		begin = `echo locklab-lock 1 per-client; read -r _ s _; echo "opened $s"; read -r _ id _ _ _ wait; `
		end   = `; while read -r verb id; do case $verb in
			cancel) echo "timeout $id" ;; release) echo "released $id" ;; close) echo "closed $id" ;; esac; done`
		wait0 = `[ "$wait" = 0 ] || echo "error WAIT_MS is $wait"; `
	)
	for _, tt := range []struct {
		name, script string
		want         error // nil: it gets the lock
	}{
		{"free", `echo "granted $id"`, nil},
		{"held", `echo "timeout $id"`, recipes.ErrNotAcquired},
		{"queues first", `echo "queued $id 1"; echo "timeout $id"`, recipes.ErrNotAcquired},
		{"waits although it is queued", `echo "queued $id 1"`, recipes.ErrNotAcquired},
		{"is slow, and nobody is ahead", `echo "queued $id 0"`, context.DeadlineExceeded},
		{"does not answer", `:`, context.DeadlineExceeded},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := session(t, driver(t, begin+wait0+tt.script+end, 50*time.Millisecond), nil)
			l := s.Lock(LockConfig{Paths: []string{"/l"}, Try: true})
			h, err := l.Acquire(within(t))
			if !errors.Is(err, tt.want) || (h == nil) != (tt.want != nil) {
				t.Errorf("got %v, %v, want %v", h, err, tt.want)
			}
		})
	}
}

// A command that gives up although it may wait for ever is named as the one that did.
func TestACommandGivesUpByItself(t *testing.T) {
	s := session(t, driver(t, hello+`read -r _ id _; echo "timeout $id"; read -r _ s; echo "closed $s"`, 0), nil)
	_, err := s.Lock(LockConfig{Paths: []string{"/l"}}).Acquire(within(t))
	const want = "acquire /l: the lock's command says timeout: context deadline exceeded"
	if !errors.Is(err, context.DeadlineExceeded) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
