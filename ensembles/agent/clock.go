package agent

import (
	"context"
	"sync"

	"locklab/harness/history"
)

// Time is what a host's clocks show at one moment.
type Time struct {
	// Clock names the clock of the host's agent and process, see [history.ClockName].
	Clock string `json:"clock"`
	// Shows is CLOCK_MONOTONIC, in ns.
	Shows int64 `json:"monotonic_ns"`
	// Wall is the wall clock, in ns since 1970. A fault that sets off the clock of the host's process does not change it.
	Wall int64 `json:"wall_ns"`
}

// clockReadings is how often the clocks are read for one reading, of which the one with the shortest round trip counts.
const clockReadings = 3

// A hostClock is what the harness knows of the clock of an agent's host.
type hostClock struct {
	own  history.Clock
	name string // of own

	mu       sync.Mutex
	follower history.ClockFollower
}

// ReadClock reads the clocks of the host. From then on the client gives all times that the agent stamps on this
// process's own clock: the answers of all other methods have no times of the host's clock.
//
// If the host has the clock of this process, the reading says so, by the name of the clock. Machines that were copied
// while they ran may have the same name, so what it shows must also be between the question and the answer.
func (c *Client) ReadClock(ctx context.Context) (history.ClockReading, history.WallClock, error) {
	var best history.ClockReading
	var wall history.WallClock
	for i := range clockReadings {
		asked := c.clock.own.Now()
		t, err := post[Time](ctx, c, "time", nil)
		if err != nil {
			return best, wall, err
		}
		if took := c.clock.own.Now() - asked; i == 0 || took < best.Took {
			best = history.ClockReading{Host: c.host, Clock: t.Clock, Shows: t.Shows, Asked: asked, Took: took}
			wall = history.WallClock{Host: c.host, Wall: t.Wall, Took: took}
		}
	}
	between := best.Asked <= best.Shows && best.Shows <= best.Asked+best.Took
	switch {
	case best.Clock == "" || best.Clock == c.clock.name && !between:
		best.Clock += " of " + c.host // it may be like no other's
	case best.Clock == c.clock.name:
		best.Same = true
	}
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	c.clock.follower.Read(best)
	return best, wall, nil
}

// SharesClock reports whether the host has the clock of this process, as far as [Client.ReadClock] knows: it is on the
// same machine then.
func (c *Client) SharesClock() bool {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.follower.Same()
}

// ToRun returns when a time of the host's clock was on this process's, as far as [Client.ReadClock] knows.
func (c *Client) ToRun(at int64) int64 {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.follower.ToRun(at)
}

// ToHost returns what the host's clock shows at a time of this process's.
func (c *Client) ToHost(at int64) int64 {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.follower.ToHost(at)
}

// A stamped is an answer with times of the host's clock.
type stamped interface{ stamps() []*int64 }

func (s *Stamp) stamps() []*int64  { return []*int64{&s.At} }
func (s *Status) stamps() []*int64 { return []*int64{&s.Since} }
func (h *Heard) stamps() []*int64  { return []*int64{&h.First, &h.Last} }

// place puts the times of an answer on this process's clock. 0 stands for no time.
func (c *Client) place(answer any) {
	if s, is := answer.(stamped); is {
		for _, at := range s.stamps() {
			if *at != 0 {
				*at = c.ToRun(*at)
			}
		}
	}
}
