package hiccups

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"locklab/harness/history"
)

// tape keeps events; the clock runs with the bubble's time.
type tape struct {
	clock  history.Clock
	events []history.Event
	fail   error
}

func (t *tape) Clock() history.Clock { return t.clock }

func (t *tape) Record(e history.Event) error {
	t.events = append(t.events, e)
	return t.fail
}

// On a machine that keeps time exactly there is a sample each period of the window, and none before it or after it, and
// none of them is too long.
func TestMeterWithoutHiccups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &tape{clock: history.NewClock()}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second+Period/2)
		defer cancel()
		if err := Meter(ctx, rec, rec.clock.Now()+int64(time.Second), rec.clock.Now()+int64(3*time.Second)); err != nil {
			t.Fatal(err)
		}
		if len(rec.events) != 1 || rec.events[0].Op != history.OpHiccups {
			t.Fatalf("events %v, want the distribution", rec.events)
		}
		h, err := Decode(rec.events[0].Hiccups().Distribution)
		if err != nil {
			t.Fatal(err)
		}
		said := rec.events[0].Hiccups().Count
		if n := h.TotalCount(); n != 200 || n != said || h.ValueAtQuantile(100) > int64(time.Microsecond) {
			t.Errorf("%d samples (the event says %d), max %d; want 200 of 0", n, said, h.ValueAtQuantile(100))
		}
	})
}

func TestMeterEndsBeforeItBegins(t *testing.T) {
	rec := &tape{clock: history.NewClock()}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Meter(ctx, rec, rec.clock.Now()+int64(time.Hour), math.MaxInt64); err != nil || len(rec.events) > 0 {
		t.Errorf("%v, events %v; want nothing", err, rec.events)
	}
}

func TestMeterThatCannotRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &tape{clock: history.NewClock(), fail: errors.New("no room")}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Meter(ctx, rec, 0, math.MaxInt64); !errors.Is(err, rec.fail) {
			t.Errorf("got %v", err)
		}
	})
}

func TestEncodeRoundTrip(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 10_000} {
		h := New()
		for range n {
			if err := h.RecordValue(draw.Int64N(int64(Long))); err != nil {
				t.Fatal(err)
			}
		}
		text, err := Encode(h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Equals(h) {
			t.Errorf("%d samples came back as %d others", n, got.TotalCount())
		}
		if len(text) > 1<<15 {
			t.Errorf("%d samples take %d bytes, more than an event may hold with ease", n, len(text))
		}
	}
	for _, text := range []string{"", "x", "HISTFAAAAA", "AAAA"} {
		if _, err := Decode(text); err == nil {
			t.Errorf("decoded %q", text)
		}
	}
}
