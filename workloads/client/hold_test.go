package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// fakeSource grants what its function returns.
type fakeSource struct {
	grant func(ctx context.Context, w lock.Want) (*lock.Grant, error)
	read  func(write *lock.Grant) (*lock.Grant, error) // nil: no downgrade
}

func (fakeSource) Done() <-chan struct{}       { return nil }
func (fakeSource) Err() error                  { return nil }
func (fakeSource) Close(context.Context) error { return nil }
func (f fakeSource) Acquire(ctx context.Context, w lock.Want) (*lock.Grant, error) {
	return f.grant(ctx, w)
}
func (f fakeSource) Downgrade(_ context.Context, write *lock.Grant) (*lock.Grant, error) {
	return f.read(write)
}

// direct calls a resource without a network.
type direct struct{ *resource.Resource }

func (d direct) Do(_ context.Context, a resource.Access) (answer resource.Answer, err error) {
	err = d.Resource.Do(a, &answer)
	return answer, err
}

// newHeld makes a hold for a test, and a function that makes the client lose it.
func newHeld(token int64, release error) (*recipes.Hold, func(error)) {
	return recipes.NewHold(recipes.HoldConfig{Parent: context.Background(), Session: 7, Token: token,
		Release: func(context.Context) error { return release }})
}

// contender returns a client of a process, and a function that returns its history in short form.
func contender(t *testing.T, cfg config, s lock.Source) (*client, func() []string) {
	t.Helper()
	recorder := func(dir, process string) *history.Recorder {
		rec, err := history.NewRecorder(dir, process, history.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { rec.Close() })
		return rec
	}
	dir := t.TempDir()
	p := &process{cfg: cfg, rec: recorder(dir, "c1")}
	p.guard, _ = guard.Find(cfg.Guard)
	r := resource.New(true, recorder(t.TempDir(), "r1"))
	p.resource = direct{r}
	c := newClient(p, 0)
	c.source = s
	return c, func() []string {
		c.Await()
		events := recorded(t, dir)
		var said []string
		for _, e := range events {
			words := []string{
				fmt.Sprintf("%d %s %s", e.Acq, e.Op, e.Kind),
				string(e.Mode),
				strings.TrimPrefix(e.Lock, "/"),
				e.Target,
				e.Detail,
			}
			if e.Value != 0 {
				words = append(words, fmt.Sprintf("value %d", e.Value))
			}
			words = slices.DeleteFunc(words, func(w string) bool { return w == "" })
			said = append(said, strings.Join(words, " "))
		}
		return said
	}
}

func always() limits {
	return limits{begin: context.Background(), wait: context.Background(), use: context.Background()}
}

func wantLines(t *testing.T, got []string, want string) {
	t.Helper()
	if lines := strings.Split(strings.TrimSpace(want), "\n"); !slices.Equal(got, lines) {
		t.Errorf("recorded\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// A writer that goes on as a reader has both holds for a moment, under two numbers.
func TestDowngradeIsRecorded(t *testing.T) {
	cfg := valid()
	cfg.Workload, cfg.DowngradeShare, cfg.Locks = workloads.ReadWrite, 1, []string{"/l"}
	held := func(mode history.Mode) *lock.Grant { h, _ := newHeld(5, nil); return lock.Single("/l", mode, h) }
	c, said := contender(t, cfg, fakeSource{
		grant: func(_ context.Context, w lock.Want) (*lock.Grant, error) { return held(w.Mode), nil },
		read:  func(*lock.Grant) (*lock.Grant, error) { return held(history.ModeRead), nil },
	})
	if err := c.once(always()); err != nil {
		t.Fatal(err)
	}
	wantLines(t, said(), `
1 acquire invoke write l
1 acquire ok write l
1 enter ok write l
1 read ok write l
1 write invoke write l value 1
1 write ok write l value 1
1 exit ok write l value 1
2 acquire invoke read l
2 acquire ok read l
1 release invoke write l
1 release ok write l
2 enter ok read l value 1
2 read ok read l value 1
2 read ok read l value 1
2 exit ok read l value 1
2 release invoke read l
2 release ok read l`)
}

// A downgrade that fails leaves the write hold, which is then released.
func TestAFailedDowngradeIsRecorded(t *testing.T) {
	cfg := valid()
	cfg.Workload, cfg.DowngradeShare, cfg.Locks = workloads.ReadWrite, 1, []string{"/l"}
	c, said := contender(t, cfg, fakeSource{
		grant: func(_ context.Context, w lock.Want) (*lock.Grant, error) {
			h, _ := newHeld(5, nil)
			return lock.Single("/l", w.Mode, h), nil
		},
		read: func(*lock.Grant) (*lock.Grant, error) { return nil, lock.ErrNoDowngrade },
	})
	if err := c.once(always()); err != nil {
		t.Fatal(err)
	}
	got := said()
	wantLines(t, got[len(got)-4:], `
2 acquire invoke read l
2 acquire fail read l error the recipe's writers cannot become readers
1 release invoke write l
1 release ok write l`)
}

// A permit is used under its slot. A permit without a slot does not show its token to the resource.
func TestPermitIsRecorded(t *testing.T) {
	cfg := valid()
	cfg.Workload, cfg.Permits, cfg.Units, cfg.Locks = workloads.Semaphore, 4, 2, []string{"/l"}
	c, said := contender(t, cfg, fakeSource{grant: func(_ context.Context, w lock.Want) (*lock.Grant, error) {
		h, _ := newHeld(5, nil)
		return lock.Single("/l", w.Mode, h), nil // this hold has no slots
	}})
	if err := c.once(always()); err != nil {
		t.Fatal(err)
	}
	wantLines(t, said(), `
1 acquire invoke permit l value 2
1 acquire ok permit l value 2
1 enter ok permit l slot-0
1 read ok permit l slot-0
1 read ok permit l slot-0
1 exit ok permit l slot-0
1 release invoke permit l value 2
1 release ok permit l value 2`)
	h, _ := newHeld(5, nil)
	if p := lock.Single("/l", history.ModePermit, h).Parts[0]; p.Token != 5 || p.Use != 0 {
		t.Errorf("token %d, of which %d is shown to the resource", p.Token, p.Use)
	}
}

// Each of several locks has its own events, in the order in which they are taken and in reverse when they are
// released. If one lock is lost, the others are not.
func TestSeveralAreRecorded(t *testing.T) {
	cfg := valid()
	cfg.Workload, cfg.Locks, cfg.LocksAtOnce, cfg.Ordered = workloads.MultiLock, []string{"/a", "/b"}, 2, true
	c, said := contender(t, cfg, fakeSource{grant: func(_ context.Context, w lock.Want) (*lock.Grant, error) {
		a, _ := newHeld(5, nil)
		b, lose := newHeld(6, nil)
		lose(errors.New("gone"))
		release := func(ctx context.Context) error { return errors.Join(b.Release(ctx), a.Release(ctx)) }
		return &lock.Grant{
			Parts:   []lock.Part{{Lock: "/a", Token: 5, Use: 5, Hold: a}, {Lock: "/b", Token: 6, Use: 6, Hold: b}},
			Release: release,
		}, nil
	}})
	if err := c.once(always()); err != nil {
		t.Fatal(err)
	}
	got := said()
	i := slices.IndexFunc(got, func(l string) bool { return strings.HasPrefix(l, "1 lost info b ") })
	if i < 0 || strings.Contains(strings.Join(got, "\n"), "lost info a") {
		t.Fatalf("b is not the only lock that is lost: %q", got)
	}
	got = slices.Delete(got, i, i+1) // its place in the record is not fixed
	gone := " release: lock lost: gone"
	wantLines(t, got, `
1 acquire invoke a
1 acquire invoke b
1 acquire ok a
1 acquire ok b
1 enter ok a
1 read ok a
1 enter ok b
1 read ok b
1 write invoke a value 1
1 write ok a value 1
1 exit ok a value 1
1 write invoke b value 1
1 write ok b value 1
1 exit ok b value 1
1 release invoke b
1 release invoke a
1 release fail b`+gone+`
1 release info a`+gone)
}

// The record distinguishes a client that waited too long from one that is cancelled at the end.
func TestWaitsThatEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := valid()
		cfg.Wait, cfg.Locks = time.Second, []string{"/l"}
		c, said := contender(t, cfg, fakeSource{grant: func(ctx context.Context, _ lock.Want) (*lock.Grant, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("acquire: %w", context.Cause(ctx))
		}})
		l := always()
		begun := time.Now()
		if err := c.once(l); err != nil || time.Since(begun) != time.Second {
			t.Errorf("gave up after %v: %v", time.Since(begun), err)
		}
		ended, cancel := context.WithTimeout(context.Background(), time.Second/2)
		defer cancel()
		l.wait = ended
		if err := c.once(l); err != nil {
			t.Error(err)
		}
		wantLines(t, said(), `
1 acquire invoke l
1 acquire fail l timed-out timed out
2 acquire invoke l
2 acquire fail l cancelled cancelled at the end of the run`)
	})
}

// A try that the lock refuses is recorded as one that would have to wait.
func TestTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := valid()
		cfg.Try, cfg.Locks = true, []string{"/l"}
		ahead := 2
		var c *client
		c, said := contender(t, cfg, fakeSource{grant: func(ctx context.Context, w lock.Want) (*lock.Grant, error) {
			d := c.described()
			d.Queued(w.Paths[0], ahead)
			if ahead > 0 && d.Try {
				return nil, fmt.Errorf("acquire: %w", recipes.ErrNotAcquired)
			}
			h, _ := newHeld(5, nil)
			return lock.Single("/l", w.Mode, h), nil
		}})
		c.p.cfg.LockOnly = true
		for range 2 {
			if err := c.once(always()); err != nil {
				t.Fatal(err)
			}
			ahead = 0
		}
		wantLines(t, said(), `
1 acquire invoke l
1 queued info l value 2
1 acquire fail l busy busy: it would have to wait
2 acquire invoke l
2 queued info l
2 acquire ok l
2 release invoke l
2 release ok l`)
	})
}
