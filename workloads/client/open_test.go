package client

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"locklab/harness/history"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// Outside of virtual time, a nap is never shorter than requested.
func TestNap(t *testing.T) {
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for _, d := range []time.Duration{-time.Second, 0, time.Microsecond, 3 * time.Millisecond} {
		begun := time.Now()
		if err := a.nap(d); err != nil || time.Since(begun) < d {
			t.Errorf("a nap of %v took %v: %v", d, time.Since(begun), err)
		}
	}
}

// The kernel's timer waits for the whole of the remaining time, and no longer.
func TestSleepUntilIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &process{nap: func(d time.Duration) error { time.Sleep(d); return nil }}
		for _, d := range []time.Duration{0, time.Millisecond, coarse, time.Second} {
			begun := time.Now()
			if !p.sleepUntil(t.Context(), begun.Add(d)) || time.Since(begun) != d {
				t.Errorf("%v for %v", time.Since(begun), d)
			}
		}
	})
}

// When a dispatcher is told to stop, it has recorded every arrival that was due, and none that was not.
func TestDispatchStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := openLoop(simulated(2), workloads.Uniform, 2, 0, time.Minute, 10)
		c, said := contender(t, cfg, nil)
		ctx, cancel := context.WithTimeout(t.Context(), 1050*time.Millisecond)
		defer cancel()
		now := c.p.rec.Clock().Now()
		q := newQueue(2, 0)
		c.p.dispatch(ctx, window{now, now + int64(time.Minute)}, q)
		n := 0
		for due := range q.due {
			n++
			if want := now + int64(n)*int64(100*time.Millisecond); due != want {
				t.Errorf("arrival %d is due at %d, want %d", n, due, want)
			}
		}
		if dropped := len(said()); n != 2 || dropped != 8 { // of the 10 that are due in the first second
			t.Errorf("%d taken, %d dropped; want 2 and 8", n, dropped)
		}
	})
}

// An arrival that was accepted but cannot begin, because the session is over and the window closes first, is dropped.
// The client does not go on with a session that has ended.
func TestArrivalWithoutASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, said := contender(t, simulated(1), nil) // the client has no session yet
		c.p.open = func(ctx context.Context, _ lock.Client) (lock.Source, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		begin, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		l := always()
		l.begin = begin
		q := newQueue(2, 0)
		due := c.p.rec.Clock().Now()
		for range 2 {
			if !q.offer(due) {
				t.Fatal("no client is free")
			}
		}
		if q.offer(due) {
			t.Error("more acquisitions in flight than allowed")
		}
		close(q.due)
		if err := c.serve(l, q); err != nil {
			t.Error(err)
		}
		wantLines(t, said(), "0 dropped info\n0 dropped info")
	})
}

// holding returns a client that is granted a lock whenever it asks, holds it for a second, and leaves the resource
// alone.
func holding(t *testing.T) (*client, func() []string) {
	t.Helper()
	cfg := simulated(1)
	cfg.LockOnly, cfg.Hold = true, workloads.Always(time.Second)
	return contender(t, cfg, fakeSource{grant: func(_ context.Context, w lock.Want) (*lock.Grant, error) {
		h, _ := newHeld(5, nil)
		return lock.Single("/l", w.Mode, h), nil
	}})
}

// A client whose section is "none" holds the lock and leaves the resource alone.
func TestLockOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, said := holding(t)
		begun := time.Now()
		if err := c.once(always()); err != nil || time.Since(begun) != time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		wantLines(t, said(), "1 acquire invoke l\n1 acquire ok l\n1 release invoke l\n1 release ok l")
	})
}

// A dispatcher that is late, because the process was stopped, records each arrival at the time when it was due.
func TestLateArrivalsKeepTheirTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		rec, err := history.NewRecorder(dir, "c1", history.NewClock())
		if err != nil {
			t.Fatal(err)
		}
		defer rec.Close()
		p := &process{cfg: openLoop(simulated(1), workloads.Uniform, 1, 0, time.Minute, 10), rec: rec}
		start := rec.Clock().Now() - int64(time.Second)
		q := newQueue(1, 0)
		p.dispatch(t.Context(), window{start, start + int64(time.Second)}, q)
		events := recorded(t, dir)
		due := []int64{<-q.due} // one arrival finds the client free
		for _, e := range events {
			due = append(due, e.At)
		}
		if len(due) != 9 {
			t.Fatalf("%d arrivals, want 9", len(due))
		}
		for i, at := range due {
			if want := start + int64(i+1)*int64(100*time.Millisecond); at != want {
				t.Errorf(
					"arrival %d is recorded at %v from the start, want %v",
					i,
					time.Duration(at-start),
					time.Duration(want-start),
				)
			}
		}
	})
}

// Arrivals that find every client busy wait in their order, as many as there are places. No more acquisitions are in
// flight than allowed, and each counts from when it was due.
func TestArrivalsWaitForClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, said := holding(t)
		q := newQueue(1, 2)
		begun := c.p.rec.Clock().Now()
		for n := range 4 {
			if taken := q.offer(begun + int64(n)); taken != (n < 3) {
				t.Errorf("arrival %d: taken %t", n, taken)
			}
		}
		close(q.due)
		if err := c.serve(always(), q); err != nil || c.p.rec.Clock().Now()-begun != int64(3*time.Second) {
			t.Errorf("served for %s: %v", time.Duration(c.p.rec.Clock().Now()-begun), err)
		}
		arrived := 0
		for _, line := range said() {
			if strings.Contains(line, "arrive") {
				arrived++
			}
		}
		if arrived != 3 {
			t.Errorf("%d arrivals were served", arrived)
		}
	})
}
