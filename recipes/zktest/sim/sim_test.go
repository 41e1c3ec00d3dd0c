package sim_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"locklab/recipes/zktest/sim"
)

// What happens, happens in the order of time, and in no real time.
func TestOrder(t *testing.T) {
	var got []string
	begun := time.Now()
	sim.Run(1, func(w *sim.World) {
		h := w.Host("c1")
		note := func(what string) { got = append(got, fmt.Sprint(what, " ", w.Clock())) }
		go func() {
			h.Sleep(context.Background(), 2*time.Hour)
			note("slept")
		}()
		w.After(3*time.Hour, h, func() { note("later") })
		w.After(time.Hour, h, func() { note("sooner") })
		stopped := h.AfterFunc(time.Minute, func() { note("stopped") })
		if !stopped.Stop() || stopped.Stop() {
			t.Error("a timer is stopped once")
		}
		again := h.AfterFunc(time.Minute, func() { note("again") })
		if !again.Reset(90*time.Minute) || len(got) > 0 {
			t.Error("a timer that runs can be reset")
		}
		w.Until(4 * time.Hour)
		if w.Now() != 4*time.Hour {
			t.Errorf("it is %s", w.Now())
		}
	})
	if want := []string{"sooner 1h0m0s", "again 1h30m0s", "slept 2h0m0s", "later 3h0m0s"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("four virtual hours took %s", took)
	}
}

// A paused host does nothing while the time of others goes on. Afterwards it does all that was due, messages and timers
// each in their order.
func TestPause(t *testing.T) {
	orders := map[string]bool{}
	for seed := range uint64(20) {
		order := ""
		sim.Run(seed, func(w *sim.World) {
			h, other := w.Host("c1"), w.Host("c2")
			at := func(what string) {
				if now := w.Clock(); now < 10*time.Second || now > 10*time.Second+time.Millisecond {
					t.Errorf("%s happened at %s", what, now)
				}
				order += what
			}
			h.AfterFunc(time.Second, func() { at("a") })
			w.After(2*time.Second, h, func() { at("1") })
			h.AfterFunc(3*time.Second, func() { at("b") })
			w.After(4*time.Second, h, func() { at("2") })
			runs := false
			other.AfterFunc(5*time.Second, func() { runs = true })
			h.Pause()
			w.Until(10 * time.Second)
			if order != "" || !runs {
				t.Errorf("%q happened during the pause; the other host ran: %t", order, runs)
			}
			h.Resume()
			w.Until(11 * time.Second)
		})
		orders[order] = true
	}
	if len(orders) != 3 || !orders["a1b2"] || !orders["ab12"] || !orders["12ab"] {
		t.Errorf("the orders were %v", orders)
	}
}

// Goroutines whose pauses began at one instant, in an order that was the scheduler's, go on in the order of their
// turns, also after a pause of their host.
func TestTimersOfOneInstant(t *testing.T) {
	for _, paused := range []bool{false, true} {
		for range 20 {
			var got []string
			sim.Run(1, func(w *sim.World) {
				h := w.Host("c1")
				w.After(time.Second, h, func() {
					for _, name := range []string{"d", "a", "c", "e", "b"} {
						go func() {
							h.Sleep(context.Background(), time.Second)
							h.Turn(name)
							got = append(got, name)
						}()
					}
				})
				w.Until(1500 * time.Millisecond)
				if paused {
					h.Pause()
					w.Until(3 * time.Second)
					h.Resume()
				}
				w.Until(4 * time.Second)
			})
			if want := []string{"a", "b", "c", "d", "e"}; !slices.Equal(got, want) {
				t.Fatalf("paused: %t: %v, want %v", paused, got, want)
			}
		}
	}
}

// A sleep ends with its context.
func TestSleepEnds(t *testing.T) {
	sim.Run(1, func(w *sim.World) {
		h := w.Host("c1")
		ctx, cancel := context.WithCancel(context.Background())
		h.AfterFunc(time.Second, cancel)
		var woke time.Duration
		go func() {
			h.Sleep(ctx, time.Hour)
			woke = w.Clock()
		}()
		w.Until(2 * time.Second)
		if woke != time.Second {
			t.Errorf("it woke at %s", woke)
		}
	})
}
