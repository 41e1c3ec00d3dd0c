package foreign

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"locklab/recipes"
	"locklab/recipes/zktest"
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

// The example in Go can be tried: it takes a free lock, and does not queue for one that another client holds.
func TestTryOfTheExample(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	program := filepath.Join(t.TempDir(), "zk-lock")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./examples/zk-lock").
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	srv := zktest.Start(t)
	lock := func() recipes.Lock {
		d, err := NewDriver(Config{Argv: []string{program}, Stderr: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Close)
		s, err := d.Open(within(t), SessionConfig{Servers: srv.Addrs(), Timeout: 10 * time.Second, Paths: []string{"/a/l"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close(context.WithoutCancel(t.Context())) })
		return s.Lock(LockConfig{Paths: []string{"/a/l"}, Try: true})
	}
	a, b := lock(), lock()
	for _, l := range []recipes.Lock{a, b} {
		h, err := l.Acquire(within(t))
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range []recipes.Lock{a, b} {
			if _, err := other.Acquire(within(t)); !errors.Is(err, recipes.ErrNotAcquired) {
				t.Errorf("a try of a lock that is held: %v", err)
			}
		}
		if err := h.Release(within(t)); err != nil {
			t.Error(err)
		}
	}
}
