package zktest

import (
	"sync"
	"time"
)

// A Clock tells a service the time. Sessions expire, and delays end, by it.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed, unless stop is called before. It must not call f before it has returned.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// realClock is the clock of package time, which is virtual in a bubble of testing/synctest.
type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// A VirtualClock is a [Clock] that stands still unless a test advances it. Its methods may be called from any
// goroutine.
type VirtualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*timer
}

type timer struct {
	at time.Time
	f  func()
}

// NewVirtualClock returns a clock that shows a time.
func NewVirtualClock(now time.Time) *VirtualClock { return &VirtualClock{now: now} }

// Now implements [Clock].
func (c *VirtualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements [Clock]. Advance calls f.
func (c *VirtualClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c.now.Add(d), f}
	c.timers = append(c.timers, t)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.remove(t)
	}
}

// remove forgets a timer. c.mu is held.
func (c *VirtualClock) remove(t *timer) {
	for i, other := range c.timers {
		if other == t {
			c.timers = append(c.timers[:i], c.timers[i+1:]...)
			return
		}
	}
}

// Advance lets d pass. It calls what is due by then, one after the other in the order of their times, while the clock
// shows the time at which each is due.
func (c *VirtualClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.now.Add(d)
	for {
		var next *timer
		for _, t := range c.timers { // of several at one time, the first that was set
			if !t.at.After(end) && (next == nil || t.at.Before(next.at)) {
				next = t
			}
		}
		if next == nil {
			break
		}
		c.remove(next)
		if next.at.After(c.now) {
			c.now = next.at
		}
		c.mu.Unlock()
		next.f()
		c.mu.Lock()
	}
	if end.After(c.now) {
		c.now = end
	}
}
