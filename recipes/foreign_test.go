package recipes

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A foreign hold with a deadline ends when the deadline passes: by its timer, or, if its clock is already past the
// deadline, when a client asks whether it is valid. A hold without a deadline lasts.
func TestForeignHoldsDeadline(t *testing.T) {
	released := func(context.Context) error { return nil }
	synctest.Test(t, func(t *testing.T) {
		deadline := time.Now().Add(time.Second)
		h, _ := NewHold(HoldConfig{Parent: t.Context(), Release: released, Deadline: deadline})
		if d, ok := h.Deadline(); !ok || !d.Equal(deadline) || !h.Valid() {
			t.Errorf("until %v, %t; valid: %t", d, ok, h.Valid())
		}
		time.Sleep(time.Second - 1)
		if synctest.Wait(); h.Context().Err() != nil {
			t.Error("ended before its deadline")
		}
		time.Sleep(time.Nanosecond)
		if synctest.Wait(); !errors.Is(context.Cause(h.Context()), ErrLeaseExpired) ||
			!errors.Is(h.Release(t.Context()), ErrLockLost) {
			t.Errorf("ended by %v", context.Cause(h.Context()))
		}

		ahead := time.Now()
		h, _ = NewHold(
			HoldConfig{
				Parent:   t.Context(),
				Release:  released,
				Deadline: ahead.Add(time.Hour),
				Now:      func() time.Time { return ahead },
			},
		)
		if ahead = ahead.Add(time.Hour); h.Context().Err() != nil {
			t.Error("ended before anybody asked")
		}
		if h.Valid() || !errors.Is(context.Cause(h.Context()), ErrLeaseExpired) {
			t.Errorf("valid: %t, ended by %v", h.Valid(), context.Cause(h.Context()))
		}

		for _, deadline := range []time.Time{{}, time.Now().Add(time.Hour)} {
			h, _ = NewHold(HoldConfig{Parent: t.Context(), Release: released, Deadline: deadline})
			if err := h.Release(t.Context()); err != nil || !errors.Is(context.Cause(h.Context()), ErrReleased) || h.Valid() {
				t.Errorf("%v, %v", err, context.Cause(h.Context()))
			}
		}
	})
}

// A hold's own clock may be behind the process's, or stand still. It is asked once for what is left until the deadline,
// and not all the time.
func TestHoldOnAClockThatStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked, passed atomic.Int64
		begin := time.Now()
		h, _ := NewHold(HoldConfig{Parent: t.Context(), Release: func(context.Context) error { return nil },
			Deadline: begin.Add(50 * time.Millisecond), Now: func() time.Time {
				asked.Add(1)
				return begin.Add(time.Duration(passed.Load()))
			}})
		time.Sleep(time.Second)
		synctest.Wait()
		if n := asked.Load(); !h.Valid() || n > 50 {
			t.Errorf("valid %t; the clock was asked %d times in a second", h.Valid(), n)
		}
		passed.Store(int64(50 * time.Millisecond))
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		if cause := context.Cause(h.Context()); !errors.Is(cause, ErrLeaseExpired) {
			t.Errorf("after the deadline: %v", cause)
		}
	})
}
