package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"locklab/harness/history"
	"locklab/recipes"
	"locklab/workloads/control"
	"locklab/workloads/guard"
	"locklab/workloads/lock"
	"locklab/workloads/resource"
)

// A client whose lock is lost makes no further access if its guard can tell. The record then says that the access
// certainly did not happen.
func TestGuards(t *testing.T) {
	const givenUp = " given up, for the lock is lost: lock lost: gone"
	for _, guard := range []struct {
		name string
		asks bool
	}{{"none", false}, {"fencing", false}, {guard.LostContext, true}, {guard.LeaseClock, true}} {
		t.Run(guard.name, func(t *testing.T) {
			cfg := valid()
			cfg.Guard, cfg.Locks = guard.name, []string{"/l"}
			var hold *recipes.Hold
			var lose func(error)
			c, said := contender(t, cfg, fakeSource{grant: func(_ context.Context, w lock.Want) (*lock.Grant, error) {
				hold, lose = newHeld(5, nil)
				return lock.Single("/l", w.Mode, hold), nil
			}})
			h := c.acquire(
				t.Context(),
				always(),
				c.choose(),
				func(ctx context.Context) (*lock.Grant, error) { return c.source.Acquire(ctx, c.choose()) },
			)
			read, ok := c.access(t.Context(), h, h.Parts[0], "read", resource.Answer{})
			if !ok || read.Value != 0 {
				t.Fatalf("read %d, %t while the lock was held", read.Value, ok)
			}
			lose(errors.New("gone"))
			if _, ok := c.access(t.Context(), h, h.Parts[0], "write", read); ok == guard.asks {
				t.Errorf("written after the lock was lost: %t", ok)
			}
			if err := c.section(always(), h); err != nil {
				t.Error(err)
			}
			var got []string
			for _, line := range said() {
				if !strings.Contains(line, " lost info ") { // its place in the record is not fixed
					got = append(got, line)
				}
			}
			want := `
1 acquire invoke l
1 acquire ok l
1 read ok l
1 write invoke l value 1
1 write ok l value 1
1 enter ok l value 1
1 read ok l value 1
1 write invoke l value 2
1 write ok l value 2
1 exit ok l value 2`
			if guard.asks {
				want = `
1 acquire invoke l
1 acquire ok l
1 read ok l
1 write invoke l value 1
1 write fail l` + givenUp + ` value 1
1 enter fail l` + givenUp
			}
			wantLines(t, got, want)
		})
	}
}

// A write is on record as invoked when the fault before it is over. So it can be seen whether a client that was stopped
// there wrote before or after it learned of its loss. The guard is asked before the fault.
func TestWriteIsInvokedBehindTheTrigger(t *testing.T) {
	for _, lost := range []bool{false, true} {
		cfg := valid()
		cfg.Guard, cfg.Locks = guard.LostContext, []string{"/l"}
		hold, lose := newHeld(5, nil)
		c, said := contender(t, cfg, fakeSource{grant: func(_ context.Context, w lock.Want) (*lock.Grant, error) {
			return lock.Single("/l", w.Mode, hold), nil
		}})
		h := c.acquire(t.Context(), always(), c.choose(),
			func(ctx context.Context) (*lock.Grant, error) { return c.source.Acquire(ctx, c.choose()) })
		// It misses, because there is no session.
		if err := c.p.triggers.arm("f1", control.BeforeWrite, control.StrikeExpire); err != nil {
			t.Fatal(err)
		}
		if lost {
			lose(errors.New("gone"))
		}
		c.access(t.Context(), h, h.Parts[0], history.OpWrite, resource.Answer{})
		hold.Release(t.Context()) // ends the watch of the hold
		var got []string
		for _, line := range said() {
			if strings.Contains(line, "strike") || strings.Contains(line, "write") {
				got = append(got, strings.Join(strings.Fields(line)[1:3], " "))
			}
		}
		want := "strike fail, write invoke, write ok"
		if lost {
			want = "write invoke, write fail"
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("recorded %q, want %q", got, want)
		}
	}
}

// A client wakes up when its lease is over, and before the timer has told it so. The guard that looks at the clock
// stops it, and no other guard does: that is the difference between them.
func TestGuardsOfAClientThatWakesUp(t *testing.T) {
	const length = time.Hour // so long that no timer fires in this test
	for _, guard := range []struct {
		name string
		asks bool
	}{{"none", false}, {"fencing", false}, {guard.LostContext, false}, {guard.LeaseClock, true}} {
		t.Run(guard.name, func(t *testing.T) {
			cfg := valid()
			cfg.Guard, cfg.Locks = guard.name, []string{"/l"}
			now := time.Now()
			hold, _ := recipes.NewHold(recipes.HoldConfig{Parent: t.Context(), Session: 7, Token: 5,
				Release: func(context.Context) error { return nil }, Deadline: now.Add(length),
				Now: func() time.Time { return now }})
			c, said := contender(t, cfg, fakeSource{grant: func(_ context.Context, w lock.Want) (*lock.Grant, error) {
				return lock.Single("/l", w.Mode, hold), nil
			}})
			h := c.acquire(
				t.Context(),
				always(),
				c.choose(),
				func(ctx context.Context) (*lock.Grant, error) { return c.source.Acquire(ctx, c.choose()) },
			)
			now = now.Add(length - 1)
			read, ok := c.access(t.Context(), h, h.Parts[0], "read", resource.Answer{})
			if !ok {
				t.Fatal("not read while the lease lasted")
			}
			now = now.Add(1) // the client was stopped meanwhile
			if err := hold.Context().Err(); err != nil {
				t.Fatalf("the client has already been told: %v", err)
			}
			if _, ok := c.access(t.Context(), h, h.Parts[0], "write", read); ok == guard.asks {
				t.Errorf("written after the lease: %t", ok)
			}
			const refused = "1 write fail l given up, for the lock is lost: lock lost: "
			hold.Release(t.Context()) // ends the watch of the hold in every case
			if got := strings.Join(said(), "\n"); strings.Contains(got, refused) != guard.asks {
				t.Errorf("in the record: %s\nwant a refusal: %t", got, guard.asks)
			}
		})
	}
}
