package recipes

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"locklab/recipes/zksession"
)

// anchor applies the rule literally: the newest beat a with a < n < m.
func anchor(beats []beat, tick time.Duration) (a beat, ok bool) {
	for i, b := range beats {
		for j := i + 1; j < len(beats); j++ {
			for k := j + 1; k < len(beats); k++ {
				n, m := beats[j], beats[k]
				if n.sent.Sub(b.acked) >= tick/2 && m.sent.Sub(n.acked) >= 0 {
					a, ok = b, true
				}
			}
		}
	}
	return a, ok
}

func TestLeaseRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tick := time.Duration(rapid.IntRange(2, 20).Draw(t, "tick"))
		r := leaseRule{tick: tick, timeout: 100, margin: 10}
		now := time.Unix(0, 0)
		var beats []beat
		for range rapid.IntRange(0, 25).Draw(t, "beats") {
			now = now.Add(time.Duration(rapid.IntRange(0, 15).Draw(t, "pause")))
			b := beat{sent: now}
			now = now.Add(time.Duration(rapid.IntRange(0, 15).Draw(t, "round trip")))
			b.acked = now
			beats = append(beats, b)
			r.acknowledged(b)
			a, ok := anchor(beats, tick)
			want := time.Time{}
			if ok {
				want = a.sent.Add(90)
			}
			if !r.deadline().Equal(want) {
				t.Fatalf("deadline %v, want %v, after %v", r.deadline(), want, beats)
			}
		}
		if at := len(r.beats); at > 1 && r.beats[at-2].sent.Sub(r.beats[0].acked) >= tick/2 {
			t.Fatal("the rule keeps beats that it no longer needs")
		}
	})
}

// A link models how a leader hears of a session. The follower notes each request of the client as it arrives. The
// leader sends a ping every half tick, and the follower's answer carries what it has noted since the ping before. All
// messages take the same time, and those that would arrive at the cut or later are lost.
type link struct{ tick, phase, delay, cut, timeout int }

// expiry returns when the leader expires a session that was created at 0 and sent requests at those times.
func (l link) expiry(sends []int) int {
	told, next := 0, 0
	for ping := l.phase; ping+2*l.delay < l.cut; ping += l.tick / 2 {
		for ; next < len(sends) && sends[next] <= ping+l.delay; next++ {
			told = ping + 2*l.delay
		}
	}
	return told + l.timeout
}

// acknowledged returns the requests that the leader answers.
func (l link) acknowledged(sends []int) (beats []beat) {
	for _, s := range sends {
		if s+2*l.delay < l.cut {
			beats = append(beats, beat{time.Unix(0, int64(s)), time.Unix(0, int64(s+2*l.delay))})
		}
	}
	return beats
}

// The deadline is never later than the session's expiry, whenever the follower is cut off.
func TestLeaseRuleIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := link{
			tick:    2 * rapid.IntRange(1, 20).Draw(t, "half ticks"),
			delay:   rapid.IntRange(0, 10).Draw(t, "delay"),
			timeout: 1000,
		}
		l.phase = rapid.IntRange(0, l.tick/2).Draw(t, "phase")
		var sends []int
		for at := 0; len(sends) < 12; at += 2*l.delay + rapid.IntRange(0, l.tick).Draw(t, "pause") {
			sends = append(sends, at)
		}
		l.cut = rapid.IntRange(0, sends[11]+2*l.delay+1).Draw(t, "cut")
		r := leaseRule{tick: time.Duration(l.tick), timeout: time.Duration(l.timeout)}
		for _, b := range l.acknowledged(sends) {
			r.acknowledged(b)
		}
		if d, e := r.deadline(), l.expiry(sends); !d.IsZero() && d.UnixNano() > int64(e) {
			t.Fatalf("deadline %d, the session expires at %d", d.UnixNano(), e)
		}
	})
}

// The newest acknowledged heartbeat alone proves nothing: the model refutes the simpler rule.
func TestAnAcknowledgementAloneIsNotEnough(t *testing.T) {
	l, sends := link{tick: 40, phase: 1, cut: 40, timeout: 1000}, []int{0, 10, 20, 30}
	beats := l.acknowledged(sends)
	newest := int(beats[len(beats)-1].sent.UnixNano())
	if e := l.expiry(sends); newest+l.timeout <= e {
		t.Errorf("sent at %d, the session expires at %d", newest, e)
	}
	r := leaseRule{tick: 40, timeout: 1000}
	for _, b := range beats {
		r.acknowledged(b)
	}
	if d := r.deadline().UnixNano(); d != 1000 {
		t.Errorf("deadline %d", d)
	}
}

// The bound for the session timeout is exact. With a timeout just above it, the clock never runs out while answers
// take next to no time; with a timeout at the bound, it does.
func TestMinTimeout(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := LeaseClockConfig{Tick: time.Duration(rapid.IntRange(2, 4000).Draw(t, "tick")) * time.Millisecond,
			Interval: time.Duration(rapid.IntRange(1, 4000).Draw(t, "interval")) * time.Millisecond,
			Margin:   time.Duration(rapid.IntRange(1, 4000).Draw(t, "margin")) * time.Millisecond}
		least, err := cfg.MinTimeout()
		if err != nil {
			t.Fatal(err)
		}
		for _, more := range []time.Duration{0, 2} {
			r := leaseRule{tick: cfg.Tick, timeout: least + more, margin: cfg.Margin}
			ranOut := false
			for i := range 20 {
				at := time.Unix(0, 0).Add(time.Duration(i) * cfg.Interval)
				b := beat{at, at.Add(1)} // a nanosecond
				ranOut = ranOut || !r.deadline().IsZero() && !r.deadline().After(b.acked)
				r.acknowledged(b)
			}
			if cfg.Tick/2 < 10*cfg.Interval && ranOut != (more == 0) {
				t.Fatalf("%+v: with %v ran out: %t", cfg, least+more, ranOut)
			}
			if refused := errors.Is(cfg.check(least+more), ErrTimeoutTooShort); refused != (more == 0) {
				t.Fatalf("%+v: %v refused: %t", cfg, least+more, refused)
			}
		}
	})
	for _, c := range []struct{ cfg, least time.Duration }{{0, 6 * time.Second},
		{time.Millisecond, 3*time.Second + 3*time.Millisecond}} {
		got, err := LeaseClockConfig{Tick: 2 * time.Second, Interval: c.cfg}.MinTimeout()
		if err != nil || got != c.least {
			t.Errorf("interval %v: %v, %v, want %v", c.cfg, got, err, c.least)
		}
	}
}

func TestLeaseClockConfiguration(t *testing.T) {
	for _, c := range []LeaseClockConfig{{}, {Tick: -1}, {Tick: time.Second, Interval: time.Microsecond},
		{Tick: time.Second, Margin: -1}, {Tick: time.Second, Path: "a"}} {
		if _, err := c.MinTimeout(); err == nil {
			t.Errorf("%+v is accepted", c)
		}
		if _, err := Connect(t.Context(), SessionConfig{Config: zksession.Config{Servers: []string{"127.0.0.1:1"}},
			LeaseClock: &c}); err == nil ||
			errors.Is(err, ErrTimeoutTooShort) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	s, _ := newFakeService().session(t, nil) // its timeout is one second
	if err := s.startLeaseClock(LeaseClockConfig{Tick: time.Second / 3}); err != nil {
		t.Errorf("a third of a second: %v", err)
	}
	if err := s.startLeaseClock(LeaseClockConfig{Tick: time.Second/3 + 1}); !errors.Is(err, ErrTimeoutTooShort) {
		t.Errorf("more than a third of a second: %v", err)
	}
}
