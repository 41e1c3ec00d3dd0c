package advice

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"locklab/harness/scenario"
	"locklab/harness/settings"
	"locklab/workloads/guard"
)

// A Config is what the advice depends on besides the pauses. A client has one session, and pauses as often as the
// process that was watched.
type Config struct {
	Tick     time.Duration   // the servers'
	Timeouts []time.Duration // to choose among; nil = from 2 to 20 ticks
	Clients  int
	// Holding is the share of its time in which a client holds the lock. A pause meets a hold as often.
	Holding float64
	// CrashesAYear is how often a client crashes while it holds the lock, all clients together.
	CrashesAYear float64
	HandOff      time.Duration // from the expiry of a holder's session to the next grant
	Reconnect    time.Duration // the longest time that a client needs to connect again after a pause
	// AccessEvery is the time from one access to what the lock protects to the next, and Access is the part of it from
	// the guard's check to the access's effect.
	AccessEvery, Access time.Duration
	Guard               string // the one whose double holds count
	// DoubleHoldCost and ExpiryCost are the times without progress that are as bad as one double hold and as one false
	// expiry.
	DoubleHoldCost, ExpiryCost time.Duration

	_ struct{}
}

// usualTicks are the timeouts that are compared if none are given, in ticks.
var usualTicks = []time.Duration{2, 3, 4, 5, 6, 8, 10, 12, 15, 20}

// The limits of the settings. They catch slips.
const (
	leastTick, mostTick = 10 * time.Millisecond, time.Minute
	mostClients         = 1e6
	mostCrashes         = 1e6
	mostTimeouts        = 40
	longest             = 8766 * time.Hour
)

// check fills in what is left out, orders the timeouts, and refuses what cannot be. The error is a
// [*scenario.InputError] that names the flag.
func (c *Config) check() error {
	if c.Tick < leastTick || c.Tick > mostTick {
		return scenario.Refuse("--tick", "from 10ms to 1m; ZooKeeper's default is 2s", "%s is out of range", c.Tick)
	}
	for _, f := range []struct {
		flag      string
		value     float64
		low, high float64
	}{
		{"--clients", float64(c.Clients), 1, mostClients},
		{"--holding", c.Holding, 0, 1},
		{"--crashes-a-year", c.CrashesAYear, 0, mostCrashes},
	} {
		if !(f.value >= f.low && f.value <= f.high) {
			return scenario.Refuse(f.flag, "from "+settings.FormatNumber(f.low)+" to "+settings.FormatNumber(f.high),
				"%s is out of range", settings.FormatNumber(f.value))
		}
	}
	for _, f := range []struct {
		flag  string
		value time.Duration
	}{
		{"--hand-off", c.HandOff}, {"--reconnect", c.Reconnect}, {"--access", c.Access}, {"--access-every", c.AccessEvery},
		{"--cost", c.DoubleHoldCost}, {"--expiry-cost", c.ExpiryCost},
	} {
		if f.value < 0 || f.value > longest {
			return scenario.Refuse(f.flag, "from 0 to a year", "%s is out of range", f.value)
		}
	}
	if c.AccessEvery < time.Microsecond || c.Access > c.AccessEvery {
		return scenario.Refuse("--access-every", "the time from one access to the next, at least 1µs and at least --access",
			"an access every %s, which takes %s, is impossible", c.AccessEvery, c.Access)
	}
	if err := settings.Choose(c.Guard, guard.Names()); err != nil {
		return scenario.Refuse("--guard", "", "%s", err)
	}
	return c.checkTimeouts()
}

func (c *Config) checkTimeouts() error {
	const flag = "--session-timeouts"
	if len(c.Timeouts) == 0 {
		for _, n := range usualTicks {
			c.Timeouts = append(c.Timeouts, n*c.Tick)
		}
	}
	if len(c.Timeouts) > mostTimeouts {
		return scenario.Refuse(flag, fmt.Sprintf("at most %d", mostTimeouts), "%d timeouts are too many", len(c.Timeouts))
	}
	lo, hi := (&scenario.Scenario{Tick: c.Tick}).SessionLimits()
	for _, t := range c.Timeouts {
		if t < lo || t > hi {
			return scenario.Refuse(flag, fmt.Sprintf("from %s to %s, which is 2 to 20 ticks", lo, hi),
				"servers with a tick of %s refuse a session timeout of %s and give %s instead", c.Tick, t, max(lo, min(hi, t)))
		}
		if t%time.Millisecond != 0 {
			return scenario.Refuse(flag, "whole milliseconds", "%s is no session timeout", t)
		}
	}
	c.Timeouts = slices.Clone(c.Timeouts)
	slices.SortFunc(c.Timeouts, cmp.Compare)
	c.Timeouts = slices.Compact(c.Timeouts)
	if g, _ := guard.Find(c.Guard); !usable(g, c.Timeouts[len(c.Timeouts)-1], c.Tick) {
		return scenario.Refuse("--guard", fmt.Sprintf("a session timeout of more than %d ticks", guard.LeaseClockLeast),
			"%s works with none of the session timeouts", c.Guard)
	}
	return nil
}
