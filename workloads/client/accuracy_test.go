package client

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/workloads"
)

// A life is what happened to one arrival, as times since the start of the run.
type life struct {
	due, invoked, queued, granted, releasing, released time.Duration
	handoff                                            time.Duration // 0 if it did not wait
	dropped                                            bool
}

// lives computes step by step what an open loop does: a queue with one server, one arrival after another (Lindley's
// recursion), and a pool of clients that may be empty. It shares nothing with the client except the times at which
// acquisitions are due.
func (sim simulation) lives() []life {
	hold, _ := sim.cfg.Hold.Fixed()
	arrivals := arrivalsOf(sim.cfg)
	var all []life
	var busy []time.Duration // when each acquisition in flight will be over
	var freed, invokable time.Duration
	var releasing time.Duration
	for {
		due, ok := arrivals.Next()
		if !ok || due >= sim.warmup+sim.window {
			return all
		}
		l := life{due: due, invoked: due}
		if sim.held {
			l.invoked = max(due, invokable)
		} else if busy = slices.DeleteFunc(busy,
			func(over time.Duration) bool { return over <= due }); len(busy) == sim.cfg.MaxInFlight {
			l.dropped = true
			all = append(all, l)
			continue
		}
		l.queued = sim.effect(l.invoked + sim.create)
		l.granted = max(l.queued, freed) + sim.notify
		if l.queued <= releasing {
			l.handoff = l.granted - releasing
		}
		l.releasing = l.granted + hold
		releasing = l.releasing
		freed = sim.effect(l.releasing + sim.free)
		l.released = freed + sim.confirm
		invokable = l.released
		busy = append(busy, l.released)
		all = append(all, l)
	}
}

// expected is what a report should say about a phase.
type expected []time.Duration

// at returns the value whose rank is nearest to a percentile, as a histogram does. In the tail, the next value can
// already differ by 2 %.
func (e expected) at(p float64) float64 {
	slices.Sort(e)
	return float64(e[max(0, int(math.Round(p/100*float64(len(e))))-1)])
}

func (e expected) mean() float64 {
	var sum float64
	for _, d := range e {
		sum += float64(d)
	}
	return sum / float64(len(e))
}

// near reports whether a figure is within 2 % of the expected one, or within a microsecond, which is the smallest
// difference that a histogram can tell.
func near(got, want float64) bool { return math.Abs(got-want) <= 0.02*math.Abs(want)+1000 }

func (e expected) compare(t *testing.T, phase string, l *measure.Latency) {
	t.Helper()
	if l == nil {
		t.Errorf("%s is null", phase)
		return
	}
	if l.Count != int64(len(e)) || len(e) == 0 {
		t.Errorf("%s has %d values, want %d", phase, l.Count, len(e))
		return
	}
	for _, c := range []struct {
		name string
		got  *int64
		want float64
	}{{"mean", l.MeanNs, e.mean()}, {"p50", l.P50Ns, e.at(50)}, {"p90", l.P90Ns, e.at(90)}, {"p99", l.P99Ns, e.at(99)},
		{"max", l.MaxNs, e.at(100)}} {
		if c.got == nil || !near(float64(*c.got), c.want) {
			t.Errorf("%s: %s %s, want %v", phase, c.name, text(c.got), time.Duration(c.want))
		}
	}
}

func text(ns *int64) string {
	if ns == nil {
		return "null"
	}
	return time.Duration(*ns).String()
}

// rate compares a rate, in 1/s.
func rate(t *testing.T, name string, got *float64, want float64) {
	t.Helper()
	if got == nil || math.Abs(*got-want) > 0.02*want {
		t.Errorf("%s: %v, want %.3f a second", name, value(got), want)
	}
}

func value(v *float64) string {
	if v == nil {
		return "null"
	}
	return fmt.Sprintf("%.3f", *v)
}

// compareOpen compares a report with the computed lives.
func (sim simulation) compareOpen(t *testing.T, r result.Result) {
	t.Helper()
	from, to := sim.warmup, sim.warmup+sim.window
	in := func(at time.Duration) bool { return at >= from && at < to }
	phases := map[string]expected{}
	var offered, dropped, granted float64
	for _, l := range sim.lives() {
		if in(l.due) {
			offered++
		}
		if l.dropped {
			if in(l.due) {
				dropped++
			}
			continue
		}
		if in(l.granted) {
			granted++
		}
		if in(l.due) {
			for phase, d := range map[string]time.Duration{measure.PhaseAcquire: l.granted - l.due,
				measure.PhaseArrival: l.invoked - l.due, measure.PhaseService: l.granted - l.invoked,
				measure.PhaseEnqueue: l.queued - l.invoked, measure.PhaseWait: l.granted - l.queued,
				measure.PhaseHold: l.releasing - l.granted} {
				phases[phase] = append(phases[phase], d)
			}
		}
		if in(l.releasing) {
			phases[measure.PhaseRelease] = append(phases[measure.PhaseRelease], l.released-l.releasing)
		}
		// A hand-off belongs to the window if its release does.
		if l.handoff > 0 && in(l.granted-l.handoff) {
			phases[measure.PhaseHandoff] = append(phases[measure.PhaseHandoff], l.handoff)
		}
	}
	for phase, want := range phases {
		want.compare(t, phase, r.Latency.ByPhase(phase))
	}
	seconds := sim.window.Seconds()
	rate(t, "acquired", r.Throughput.AcquiredPerS, granted/seconds)
	rate(t, "offered", r.Throughput.OfferedPerS, offered/seconds)
	rate(t, "dropped", r.Throughput.DroppedPerS, dropped/seconds)
	if n := r.Throughput.Dropped; n == nil || *n != int64(dropped) {
		t.Errorf("dropped %v, want %.0f", n, dropped)
	}
}

var usual = timing{
	create:  1100 * time.Microsecond,
	notify:  700 * time.Microsecond,
	free:    900 * time.Microsecond,
	confirm: 300 * time.Microsecond,
}

// each is how long one acquisition occupies a lock that others wait for, with a hold of 2 ms: the hold, and the
// hand-off of 1.6 ms. So the lock can be acquired 277.8 times a second.
const each = 3600 * time.Microsecond

// In an open loop, the report agrees with the computed lives.
func TestOpenLoopIsMeasuredRight(t *testing.T) {
	const warmup, window = 2 * time.Second, 20 * time.Second
	stalled := usual
	stalled.stallAt, stalled.stall = 9*time.Second, 500*time.Millisecond
	// An acquisition that is due in the warm-up and asked for in the window does not belong to the window.
	early := usual
	early.stallAt, early.stall = warmup-300*time.Millisecond, 500*time.Millisecond
	sim := func(tm timing, kind string, clients int, rates ...float64) simulation {
		cfg := openLoop(simulated(clients), kind, clients, warmup, window, rates...)
		cfg.Hold = workloads.Always(2 * time.Millisecond)
		return simulation{timing: tm, cfg: cfg, warmup: warmup, window: window}
	}
	held := func(s simulation) simulation { s.held = true; return s }
	for _, c := range []struct {
		name string
		simulation
		drops bool
	}{
		{"idle", sim(usual, workloads.Uniform, 4, 97), false},
		{"busy", sim(usual, workloads.Poisson, 400, 200), false},
		{"overloaded", sim(usual, workloads.Poisson, 8, 400), true},
		{"steps", sim(usual, workloads.Uniform, 16, 101, 211, 397), true},
		{"stalled servers", sim(stalled, workloads.Poisson, 400, 200), false},
		{"stalled servers, small pool", sim(stalled, workloads.Poisson, 10, 150), true},
		{"stalled process", held(sim(stalled, workloads.Uniform, 1, 97)), false},
		{"stalled process as the window opens", held(sim(early, workloads.Uniform, 1, 97)), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := c.run(t)
				c.compareOpen(t, r)
				if got := *r.Throughput.Dropped > 0; got != c.drops {
					t.Errorf("%d dropped: the case does not test what its name says", *r.Throughput.Dropped)
				}
			})
		})
	}
}

// While a process is stopped, no client asks for the lock, so no service takes long. Yet the acquisitions that were
// due meanwhile have waited.
func TestAStallIsNotOmitted(t *testing.T) {
	const warmup, window, stall = time.Second, 10 * time.Second, 500 * time.Millisecond
	tm := usual
	tm.stallAt, tm.stall = 5*time.Second, stall
	cfg := simulated(1)
	cfg.Hold = workloads.Always(2 * time.Millisecond)
	synctest.Test(t, func(t *testing.T) {
		sim := simulation{
			timing: tm,
			cfg:    openLoop(cfg, workloads.Uniform, 1, warmup, window, 100),
			warmup: warmup,
			window: window,
			held:   true,
		}
		r := sim.run(t)
		// 50 of 1,000 acquisitions are due in the stall, and it takes a while to catch up: at least 5 % are late by
		// up to the stall, so p99 is beyond four fifths of it. Only one was in service.
		if p99 := time.Duration(*r.Latency.Acquire.P99Ns); p99 < 4*stall/5 {
			t.Errorf("acquire: p99 %v, and a stall of %v", p99, stall)
		}
		if p99 := time.Duration(*r.Latency.Service.P99Ns); p99 > 10*time.Millisecond {
			t.Errorf("service: p99 %v, although only one call was in service when the process stalled", p99)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		// The same stall in a closed loop, whose report says that it is one: p99 shows nothing of the stall.
		cfg.Think = workloads.Always(4 * time.Millisecond)
		r := simulation{timing: tm, cfg: cfg, warmup: warmup, window: window}.run(t)
		if !r.ClosedLoop || r.Latency.Service != nil || r.Throughput.Dropped != nil {
			t.Errorf("closed loop %t, service %v, dropped %v", r.ClosedLoop, r.Latency.Service, r.Throughput.Dropped)
		}
		if p99, longest := time.Duration(*r.Latency.Acquire.P99Ns),
			time.Duration(*r.Latency.Acquire.MaxNs); p99 > 10*time.Millisecond ||
			longest < stall/2 {
			t.Errorf("acquire: p99 %v, at most %v", p99, longest)
		}
	})
}

// In a closed loop every cycle is like any other, so each figure is known in advance.
func TestClosedLoopIsMeasuredRight(t *testing.T) {
	const warmup, window, hold = time.Second, 20 * time.Second, 2 * time.Millisecond
	alone := usual.create + usual.notify
	release := usual.free + usual.confirm
	for _, c := range []struct {
		name    string
		clients int
		think   time.Duration
		acquire time.Duration
		rate    float64
		handoff bool
	}{
		// One acquisition after the other, with no other client.
		{"one client", 1, 0, alone, 1 / (alone + hold + release).Seconds(), false},
		{"one client that thinks", 1, 7 * time.Millisecond, alone, 1 / (alone + hold + release +
			7*time.Millisecond).Seconds(), false},
		// The lock is never idle. Each client has it once every 8 × each, and waits for all of that time except its
		// own hold, release and pause.
		{"many clients", 8, 0, 8*each - hold - release, 1 / each.Seconds(), true},
		{"many clients that think", 8, 5 * time.Millisecond, 8*each - hold - release - 5*time.Millisecond,
			1 / each.Seconds(), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := simulated(c.clients)
				cfg.Hold, cfg.Think = workloads.Always(hold), workloads.Always(c.think)
				r := simulation{timing: usual, cfg: cfg, warmup: warmup, window: window}.run(t)
				rate(t, "acquired", r.Throughput.AcquiredPerS, c.rate)
				want := map[string]time.Duration{
					measure.PhaseAcquire: c.acquire,
					measure.PhaseEnqueue: usual.create,
					measure.PhaseWait:    c.acquire - usual.create,
					measure.PhaseHold:    hold,
					measure.PhaseRelease: release,
				}
				if c.handoff {
					want[measure.PhaseHandoff] = usual.free + usual.notify
				}
				for phase, d := range want {
					l := r.Latency.ByPhase(phase)
					if n := c.rate * window.Seconds(); math.Abs(float64(l.Count)-n) > 0.02*n {
						t.Errorf("%s has %d values, want %.0f", phase, l.Count, n)
					}
					for _, got := range []*int64{l.MinNs, l.MeanNs, l.P50Ns, l.P99Ns, l.MaxNs} {
						if got == nil || !near(float64(*got), float64(d)) {
							t.Errorf("%s: %s, want %v", phase, text(got), d)
						}
					}
				}
				if n := r.Latency.Handoff.Count; !c.handoff && n != 0 {
					t.Errorf("%d hand-offs, although no client waited", n)
				}
			})
		})
	}
}

// A client holds for as long as it has drawn: its history agrees with the draws of its own random stream.
func TestDrawnHoldsAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := simulated(1)
		cfg.Hold = workloads.Distribution{Kind: workloads.Exponential, Centre: 3 * time.Millisecond}
		r := simulation{timing: usual, cfg: cfg, window: 20 * time.Second}.run(t)
		draws := clientRand(cfg, 0)
		var want expected
		for range r.Latency.Hold.Count {
			cfg.LockChoice.Of(1).One(draws) // as the client does first
			want = append(want, cfg.Hold.Draw(draws))
		}
		want.compare(t, measure.PhaseHold, &r.Latency.Hold)
	})
}
