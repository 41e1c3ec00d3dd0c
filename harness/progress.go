package harness

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Progress is the state of a run, about once a second.
type Progress struct {
	// Elapsed is since the clients' start.
	Elapsed time.Duration
	// Phase is the one the run is in, e.g. measure.
	Phase string
	// Acquired counts grants so far; Rate is those a second since the last report.
	Acquired int
	Rate     float64
	// P99 is of the acquisitions since the last report; 0 if there are too few to say.
	P99 time.Duration
	// Faults are those in force, in words.
	Faults []string
	// Overlaps counts pairs of clients seen to believe at once so far.
	Overlaps int

	_ struct{}
}

// String is the progress as one plain line.
func (p Progress) String() string {
	p99 := "-"
	if p.P99 > 0 {
		p99 = p.P99.Round(10 * time.Microsecond).String()
	}
	faults := "none"
	if len(p.Faults) > 0 {
		faults = strings.Join(p.Faults, "; ")
	}
	return fmt.Sprintf("%5.1fs %-8s %6.0f acquired/s  p99 %-9s faults: %s  overlaps: %d", p.Elapsed.Seconds(), p.Phase, p.Rate, p99, faults, p.Overlaps)
}

// enoughForP99 is how many samples a 99th percentile takes.
const enoughForP99 = 100

// reporter tells a run's progress once a second until it is stopped.
type reporter struct {
	live *live
	tell func(Progress)

	mu     sync.Mutex
	phase  string
	faults []string

	stop chan struct{}
	done chan struct{}
}

func newReporter(l *live, tell func(Progress)) *reporter {
	return &reporter{live: l, tell: tell, stop: make(chan struct{}), done: make(chan struct{})}
}

func (r *reporter) setPhase(phase string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = phase
}

func (r *reporter) setFaults(faults []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = faults
}

// run reports until end is called.
func (r *reporter) run(start time.Time) {
	defer close(r.done)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, lastAt := 0, start
	for {
		select {
		case <-r.stop:
			return
		case now := <-tick.C:
			r.live.mu.Lock()
			p := Progress{Elapsed: now.Sub(start), Acquired: r.live.acquired, Overlaps: r.live.overlaps}
			if r.live.recent.TotalCount() >= enoughForP99 {
				p.P99 = time.Duration(r.live.recent.ValueAtQuantile(99))
			}
			r.live.recent.Reset()
			r.live.mu.Unlock()
			p.Rate = float64(p.Acquired-last) / now.Sub(lastAt).Seconds()
			last, lastAt = p.Acquired, now
			r.mu.Lock()
			p.Phase, p.Faults = r.phase, r.faults
			r.mu.Unlock()
			if r.tell != nil {
				r.tell(p)
			}
		}
	}
}

func (r *reporter) end() {
	close(r.stop)
	<-r.done
}
