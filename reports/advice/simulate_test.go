package advice

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"locklab/workloads/guard"
)

// A simulation is one client after another that a pause stops, in virtual seconds. It knows of pings, reports and ticks
// what ZooKeeper's sources say, and nothing of this package.
type simulation struct {
	timeout, tick, back  float64
	holding, every, take float64
	draw                 *rand.Rand
	length               func() float64 // of the next pause
}

// A tally counts what the pauses did.
type tally struct {
	pauses, expired float64
	// Double holds by guard.
	none, lostContext, leaseClock float64
}

// nextTick returns the first multiple of a period that is later than t.
func nextTick(t, period float64) float64 { return (math.Floor(t/period) + 1) * period }

// run stops a client so many times.
func (s *simulation) run(pauses int) tally {
	n := tally{pauses: float64(pauses)}
	now := 0.0
	for range pauses {
		firstPing := now + s.draw.Float64()*s.timeout/3
		at := now + 20*s.timeout + s.draw.ExpFloat64()*100*s.timeout
		// The follower's reports and the leader's ticks have phases of their own.
		reports := s.draw.Float64() * s.tick / 2
		ping := firstPing + math.Floor((at-firstPing)/(s.timeout/3))*s.timeout/3
		heard := nextTick(ping-reports, s.tick/2) + reports
		expires := nextTick(heard+s.timeout, s.tick) // as ExpiryQueue.roundToNextInterval
		wake := at + s.length()
		// A client without an answer for 2/3 T connects again. Another one is heard of by the next report.
		back := nextTick(wake-reports, s.tick/2) + reports
		if wake-ping > s.timeout*2/3 {
			back = wake + s.draw.Float64()*s.back
		}
		now = back
		if expires > back {
			continue
		}
		n.expired++
		if s.draw.Float64() >= s.holding {
			continue
		}
		n.none++
		// The client accesses what the lock protects every so often: it checks, and its access has its effect later.
		into := s.draw.Float64() * s.every
		inFlight := into < s.take && wake+s.take-into >= expires
		if inFlight {
			n.leaseClock++
		}
		outdated := inFlight
		for check := wake + s.every - into; check < back && !outdated; check += s.every {
			outdated = check >= expires
		}
		if outdated {
			n.lostContext++
		}
	}
	return n
}

// paretoPauses draws pauses with a heavy tail, in seconds.
func paretoPauses(draw *rand.Rand, shortest float64) func() float64 {
	return func() float64 { return shortest * math.Pow(1-draw.Float64(), -1/1.2) }
}

// The rates for pauses of a known distribution are those of simulated sessions, within 10 %.
func TestAdviseAgainstSimulation(t *testing.T) {
	const watched = 500_000
	for _, c := range []struct {
		tick                     time.Duration
		shortest                 float64 // pause, in s
		reconnect, every, access time.Duration
	}{
		{2 * time.Second, 0.5, time.Second, 10 * time.Millisecond, 3 * time.Millisecond},
		{2 * time.Second, 0.5, 300 * time.Millisecond, 2 * time.Second, 500 * time.Millisecond},
		// It takes longer to connect again than a session lasts.
		{200 * time.Millisecond, 0.05, time.Second, 10 * time.Millisecond, 3 * time.Millisecond},
	} {
		// A log of pauses of that distribution: as the simulation's pauses, but others.
		sample := paretoPauses(rand.New(rand.NewPCG(1, 2)), c.shortest)
		log := Pauses{Span: watched * time.Hour}
		for range watched {
			log.Lengths = append(log.Lengths, Length{time.Duration(sample() * 1e9), 1})
		}
		log.order()
		a, err := Advise(log, Config{Tick: c.tick, Timeouts: []time.Duration{2 * c.tick, 5 * c.tick, 10 * c.tick}, Clients: 1,
			Holding: 0.5, Reconnect: c.reconnect, AccessEvery: c.every, Access: c.access, Guard: guard.None})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range a.Options {
			draw := rand.New(rand.NewPCG(3, uint64(o.TimeoutNs)))
			sim := simulation{timeout: time.Duration(o.TimeoutNs).Seconds(), tick: c.tick.Seconds(),
				back: c.reconnect.Seconds(), holding: 0.5, every: c.every.Seconds(), take: c.access.Seconds(), draw: draw,
				length: paretoPauses(draw, c.shortest)}
			n := sim.run(watched)
			// The log has a pause an hour, so the rate of the simulation's pauses is scaled to that.
			perYear := Year.Hours() / n.pauses
			for what, v := range map[string]struct{ predicted, simulated float64 }{
				"false expiries":             {o.FalseExpiries.AYear, n.expired * perYear},
				"double holds, none":         {o.DoubleHolds[guard.None].AYear, n.none * perYear},
				"double holds, lost-context": {o.DoubleHolds[guard.LostContext].AYear, n.lostContext * perYear},
				"double holds, lease-clock":  {o.DoubleHolds[guard.LeaseClock].AYear, n.leaseClock * perYear},
			} {
				if _, usable := o.DoubleHolds[guard.LeaseClock]; !usable && what == "double holds, lease-clock" {
					continue
				}
				ratio := v.predicted / v.simulated
				t.Logf("T %s, back within %s: %s: %.1f predicted, %.1f simulated, ratio %.3f", time.Duration(o.TimeoutNs),
					c.reconnect, what, v.predicted, v.simulated, ratio)
				if !(ratio > 0.9 && ratio < 1.1) {
					t.Errorf("T %s: %s: %.1f a year predicted, %.1f simulated", time.Duration(o.TimeoutNs), what, v.predicted,
						v.simulated)
				}
			}
		}
	}
}

// After a crash the session of an idle holder expires within the limits, and after the mean time.
func TestWithoutProgressAgainstSimulation(t *testing.T) {
	const tick, timeout, handOff = 2 * time.Second, 10 * time.Second, 5 * time.Millisecond
	a, err := Advise(Pauses{Lengths: []Length{{time.Second, 1}}, Span: time.Hour}, Config{Tick: tick, Clients: 1,
		Timeouts: []time.Duration{timeout}, HandOff: handOff, AccessEvery: time.Second, Guard: guard.None})
	if err != nil {
		t.Fatal(err)
	}
	s := a.Options[0].WithoutProgress
	draw := rand.New(rand.NewPCG(4, 4))
	const crashes = 100_000
	sum, least, most := 0.0, math.Inf(1), 0.0
	for range crashes {
		ping := -draw.Float64() * timeout.Seconds() / 3
		reports, ticks := draw.Float64(), draw.Float64()*2
		heard := nextTick(ping-reports, tick.Seconds()/2) + reports
		waited := nextTick(heard+timeout.Seconds()-ticks, tick.Seconds()) + ticks + handOff.Seconds()
		sum += waited
		least, most = min(least, waited), max(most, waited)
	}
	if mean := sum / crashes; math.Abs(mean-float64(s.MeanNs)/1e9) > 0.02 {
		t.Errorf("mean %.3f s, %.3f s simulated", float64(s.MeanNs)/1e9, mean)
	}
	if least < float64(s.LeastNs)/1e9 || most > float64(s.MostNs)/1e9 || least > float64(s.LeastNs)/1e9+0.3 ||
		most < float64(s.MostNs)/1e9-0.3 {
		t.Errorf("limits %d to %d ns, %.3f s to %.3f s simulated", s.LeastNs, s.MostNs, least, most)
	}
}
