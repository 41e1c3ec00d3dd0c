package client

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"locklab/reports/capacity"
	"locklab/workloads"
)

// A search that measures the stand-in with the client's own loop, recorder and report finds the rate that its service
// time allows: within the goal width, with each of 20 seeds. Beyond that rate the queue grows for as long as the
// window lasts, so that any limit on p99 is missed, or no client is free.
func TestSaturationOfAKnownLock(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for long")
	}
	const warmup, window, limit = time.Second / 2, 4 * time.Second, 30 * time.Millisecond
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 0))
		ms := func(lo, hi float64) time.Duration {
			return time.Duration((lo + rng.Float64()*(hi-lo)) * float64(time.Millisecond))
		}
		tm := timing{create: ms(0.5, 2), notify: ms(0.3, 1), free: ms(0.3, 1), confirm: ms(0.1, 0.5)}
		hold := ms(1, 6)
		// An acquisition takes from its grant until the next one is granted.
		truth := 1 / (hold + tm.free + tm.notify).Seconds()
		search := capacity.Search{Start: 30 + rng.Float64()*40}
		var trials []capacity.Trial
		for {
			ask, more := search.Next(trials)
			if !more {
				break
			}
			synctest.Test(t, func(t *testing.T) {
				cfg := openLoop(simulated(64), workloads.Uniform, 64, warmup, window, ask.Level)
				cfg.Hold, cfg.Seed = workloads.Always(hold), 1000*seed+uint64(len(trials))
				r := simulation{timing: tm, cfg: cfg, warmup: warmup, window: window}.run(t)
				p := capacity.Trial{Level: ask.Level, Kind: ask.Kind, PerS: r.Throughput.AcquiredPerS}
				switch {
				case r.Latency.Acquire.P99Ns == nil || r.Throughput.Dropped == nil:
					p.Reason = capacity.Undecided
				case *r.Throughput.Dropped > 0 || time.Duration(*r.Latency.Acquire.P99Ns) >= limit:
					p.Reason = capacity.Missed
				}
				trials = append(trials, p)
			})
		}
		l := search.Limit(trials)
		if l.Unknown != "" || l.Lower == nil || l.Upper == nil || *l.Lower < 0.93*truth || *l.Lower > 1.03*truth {
			t.Errorf("seed %d: %+v; the lock takes %.2f a second", seed, l, truth)
		}
	}
}
