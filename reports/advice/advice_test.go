package advice

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"locklab/harness/scenario"
	"locklab/workloads/guard"
)

// usual is what the command takes if nothing is said, but for the time until a client is heard of.
var usual = Config{Tick: 2 * time.Second, Clients: 10, Holding: 0.1, CrashesAYear: 12, HandOff: 5 * time.Millisecond,
	AccessEvery: 10 * time.Millisecond, Access: time.Millisecond, Guard: guard.None, DoubleHoldCost: time.Hour,
	ExpiryCost: time.Minute}

// pauses is a log of a year with that many pauses of one length.
func pauses(length time.Duration, n float64) Pauses {
	return Pauses{Source: "a log", What: "pauses", Span: Year, Lengths: []Length{{length, n}}}
}

func advise(t *testing.T, p Pauses, cfg Config) *Advice {
	t.Helper()
	a, err := Advise(p, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Ten pauses a year that outlast every session are an expiry each, of each of ten clients, and every tenth meets a
// hold. A tenth of those interrupts an access.
func TestRatesOfCertainExpiries(t *testing.T) {
	for _, o := range advise(t, pauses(time.Minute, 10), usual).Options {
		for name, c := range map[string]struct{ got, want float64 }{
			"false expiries": {o.FalseExpiries.AYear, 100},
			guard.None:       {o.DoubleHolds[guard.None].AYear, 10},
			// A client that is heard of at once is told at once.
			guard.LostContext: {o.DoubleHolds[guard.LostContext].AYear, 1},
			guard.Fencing:     {o.DoubleHolds[guard.Fencing].AYear, 0},
			guard.ZKMulti:     {o.DoubleHolds[guard.ZKMulti].AYear, 0},
		} {
			if math.Abs(c.got-c.want) > 1e-9 {
				t.Errorf("T %s: %s: %v a year, want %v", time.Duration(o.TimeoutNs), name, c.got, c.want)
			}
		}
		lease, usable := o.DoubleHolds[guard.LeaseClock]
		if usable != (time.Duration(o.TimeoutNs) > 6*time.Second) || usable && math.Abs(lease.AYear-1) > 1e-9 {
			t.Errorf("T %s: lease-clock: %v a year, usable %v", time.Duration(o.TimeoutNs), lease.AYear, usable)
		}
		wait := time.Duration(o.WithoutProgress.MeanNs).Seconds()
		if got, want := o.CostSAYear[guard.None], 10*3600+100*60+12*wait; math.Abs(got-want) > 1e-6 {
			t.Errorf("T %s: the cost is %v s, want %v", time.Duration(o.TimeoutNs), got, want)
		}
	}
}

// Without a pause that is long enough there is an upper limit and no estimate: three in the year, of each of ten
// clients.
func TestRatesBeyondTheInput(t *testing.T) {
	for _, o := range advise(t, pauses(2600*time.Millisecond, 10), usual).Options {
		if r := o.FalseExpiries; !r.Unseen || r.AYear != 0 || math.Abs(r.High-29.96) > 0.01 || o.LongPauses != 0 {
			t.Errorf("T %s: %+v, %v long pauses", time.Duration(o.TimeoutNs), r, o.LongPauses)
		}
	}
}

// The recommended timeout is the one that costs least by what was asked about.
func TestChoice(t *testing.T) {
	cheap, costly := usual, usual
	cheap.DoubleHoldCost, cheap.ExpiryCost = 0, 0
	costly.DoubleHoldCost = 24 * time.Hour
	for name, c := range map[string]struct {
		pauses Pauses
		cfg    Config
		guard  string
		want   time.Duration
	}{
		"the shortest, if only crashes cost":         {pauses(6*time.Second, 10), cheap, guard.None, 4 * time.Second},
		"the shortest with a lease clock":            {pauses(6*time.Second, 10), cheap, guard.LeaseClock, 8 * time.Second},
		"the first that outlasts every pause":        {pauses(6*time.Second, 10), costly, guard.None, 10 * time.Second},
		"the shortest, if no timeout outlasts them":  {pauses(time.Minute, 10), costly, guard.None, 4 * time.Second},
		"the first that outlasts them, for expiries": {pauses(6*time.Second, 10), costly, guard.Fencing, 10 * time.Second},
	} {
		if got := advise(t, c.pauses, c.cfg).Choices[c.guard]; time.Duration(got.TimeoutNs) != c.want {
			t.Errorf("%s: %s, want %s", name, time.Duration(got.TimeoutNs), c.want)
		}
	}
}

// What cannot be is refused, and the flag is named.
func TestBadConfig(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Config)
		flag   string
		want   string
	}{
		"too short": {func(c *Config) { c.Timeouts = []time.Duration{3 * time.Second} }, "--session-timeouts",
			"refuse a session timeout of 3s and give 4s instead"},
		"too long": {func(c *Config) { c.Timeouts = []time.Duration{time.Minute} }, "--session-timeouts", "give 40s instead"},
		"no milliseconds": {func(c *Config) { c.Timeouts = []time.Duration{5*time.Second + 1} }, "--session-timeouts",
			"no session timeout"},
		"too many":  {func(c *Config) { c.Timeouts = make([]time.Duration, 41) }, "--session-timeouts", "too many"},
		"tick":      {func(c *Config) { c.Tick = -time.Second }, "--tick", "out of range"},
		"clients":   {func(c *Config) { c.Clients = 0 }, "--clients", "out of range"},
		"holding":   {func(c *Config) { c.Holding = 1.5 }, "--holding", "out of range"},
		"NaN":       {func(c *Config) { c.Holding = math.NaN() }, "--holding", "out of range"},
		"crashes":   {func(c *Config) { c.CrashesAYear = -1 }, "--crashes-a-year", "out of range"},
		"cost":      {func(c *Config) { c.DoubleHoldCost = -1 }, "--cost", "out of range"},
		"reconnect": {func(c *Config) { c.Reconnect = -1 }, "--reconnect", "out of range"},
		"access":    {func(c *Config) { c.Access = time.Second }, "--access-every", "impossible"},
		"guard":     {func(c *Config) { c.Guard = "fence" }, "--guard", "unknown value"},
		"lease clock": {func(c *Config) {
			c.Guard, c.Timeouts = guard.LeaseClock, []time.Duration{6 * time.Second}
		}, "--guard", "works with none"},
	} {
		cfg := usual
		c.change(&cfg)
		_, err := Advise(pauses(time.Second, 1), cfg)
		bad, ok := errors.AsType[*scenario.InputError](err)
		if !ok || bad.Flag != c.flag || !strings.Contains(bad.Error(), c.want) {
			t.Errorf("%s: %v, want %s: %s", name, err, c.flag, c.want)
		}
	}
}
