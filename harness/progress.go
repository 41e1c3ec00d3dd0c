package harness

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"locklab/harness/history"
)

// Progress is the state of a run, as far as it is known while it goes on.
type Progress struct {
	// Scenario is the run's name; Clients and Locks are how many there are.
	Scenario       string
	Clients, Locks int
	// Elapsed is since the clients' start, Planned how long they are to work; 0 = until they are done.
	Elapsed, Planned time.Duration
	// Phase is the one the run is in, e.g. measure.
	Phase string
	// Connected is how many clients are.
	Connected int
	// Acquired counts grants so far; Rate is those a second, of the last second, and Rates are
	// those of all seconds, the last one included.
	Acquired int
	Rate     float64
	Rates    []float64
	// P50 and P99 are of the acquisitions of the last second; 0 if there are too few to say.
	P50, P99 time.Duration
	// Waiting and Holding are how many clients wait for a lock and how many holds there are.
	// LongestWait is that of those who still wait.
	Waiting, Holding int
	LongestWait      time.Duration
	// Holders are the holds, by lock and then by age, of at most holdersTold locks.
	Holders []Holder
	// Faults are those in force, in words.
	Faults []string
	// Overlaps counts pairs of clients seen to believe at once so far; -1 = only the
	// verdict can say, as of permits. Lost counts updates; -1 = those who write may be
	// there together.
	Overlaps, Lost int
	// Stale and Refused count accesses by a holder whom a later one had followed at the
	// resource: those that it accepted and those that it did not.
	Stale, Refused int

	_ struct{}
}

// A Holder is a hold, as its client believes.
type Holder struct {
	Lock, Client, Mode string
	For                time.Duration
}

// holdersTold is of how many locks progress names the holders.
const holdersTold = 8

// String is the progress as one plain line.
func (p Progress) String() string {
	switch p.Phase {
	case history.PhaseEnsemble:
		return fmt.Sprintf("       %-8s %s", p.Phase, starting)
	case history.PhaseConnect:
		return fmt.Sprintf("       %-8s %d of %d clients connected", p.Phase, p.Connected, p.Clients)
	}
	p99 := "-"
	if p.P99 > 0 {
		p99 = p.P99.Round(10 * time.Microsecond).String()
	}
	faults := "none"
	if len(p.Faults) > 0 {
		faults = strings.Join(p.Faults, "; ")
	}
	overlaps := "-"
	if p.Overlaps >= 0 {
		overlaps = strconv.Itoa(p.Overlaps)
	}
	return fmt.Sprintf("%5.1fs %-8s %6.0f acquired/s  p99 %-9s faults: %s  overlaps: %s", p.Elapsed.Seconds(), p.Phase, p.Rate, p99, faults, overlaps)
}

// How many samples percentiles take.
const (
	enoughForP50 = 2
	enoughForP99 = 100
)

// reporter tells a run's progress again and again until it is stopped. What is counted by the
// second changes once a second, however often it is told.
type reporter struct {
	live  *live
	tell  func(Progress)
	every time.Duration // that it tells; 0 = 1 s
	plan  Progress      // what does not change

	mu     sync.Mutex
	start  time.Time // when the clients begin; zero while that is not known
	phase  string
	faults []string

	stop chan struct{}
	done chan struct{}
}

func newReporter(l *live, tell func(Progress)) *reporter {
	return &reporter{live: l, tell: tell, stop: make(chan struct{}), done: make(chan struct{})}
}

// setStart says when the clients begin.
func (r *reporter) setStart(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.start = at
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
func (r *reporter) run() {
	defer close(r.done)
	every := r.every
	if every == 0 {
		every = time.Second
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	p, last, lastAt := r.plan, 0, time.Time{}
	for {
		select {
		case <-r.stop:
			return
		case now := <-tick.C:
			r.mu.Lock()
			start := r.start
			p.Phase, p.Faults = r.phase, r.faults
			r.mu.Unlock()
			if lastAt.IsZero() {
				lastAt = start
			}
			if !start.IsZero() {
				p.Elapsed = max(0, now.Sub(start)) // they begin a moment after this is known
			}
			r.live.mu.Lock()
			r.live.progress(&p, now)
			// A tick that comes a little early is the second's all the same.
			if since := now.Sub(lastAt); !start.IsZero() && since >= time.Second-every/2 {
				r.live.second(&p)
				p.Rate = float64(p.Acquired-last) / since.Seconds()
				p.Rates = append(p.Rates, p.Rate)
				last, lastAt = p.Acquired, now
			}
			r.live.mu.Unlock()
			if r.tell != nil {
				r.tell(p)
			}
		}
	}
}

// second takes what was counted since the last second. l.mu is held.
func (l *live) second(p *Progress) {
	p.P50, p.P99 = 0, 0
	if n := l.recent.TotalCount(); n >= enoughForP50 {
		p.P50 = time.Duration(l.recent.ValueAtQuantile(50))
		if n >= enoughForP99 {
			p.P99 = time.Duration(l.recent.ValueAtQuantile(99))
		}
	}
	l.recent.Reset()
}

// progress fills in what is so now. l.mu is held.
func (l *live) progress(p *Progress, now time.Time) {
	at := l.clock.At(now)
	p.Acquired, p.Overlaps, p.Stale, p.Refused = l.acquired, l.overlaps, l.stale, l.refused
	p.Connected = 0
	for _, n := range l.sessions {
		p.Connected += n
	}
	p.Lost = 0
	for _, w := range l.wrote {
		p.Lost += int(max(0, w.writes-w.value)) // less than 0 while what clients tell comes out of order
	}
	if l.shared || l.lists {
		p.Lost = -1
	}
	if l.kept {
		p.Stale = -1
	}
	p.Waiting, p.LongestWait = len(l.waiting), 0
	for _, since := range l.waiting {
		p.LongestWait = max(p.LongestWait, time.Duration(at-since))
	}
	p.Holding, p.Holders = 0, nil
	for _, lock := range slices.Sorted(maps.Keys(l.holds)) {
		for _, h := range l.holding(lock, at) {
			p.Holding++
			if len(l.holds) <= holdersTold {
				p.Holders = append(p.Holders, Holder{lock, h.client, h.mode, max(0, time.Duration(at-h.from))})
			}
		}
	}
}

// feedLag is how much later than another process's events those of a process may arrive.
const feedLag = 500 * time.Millisecond

// holding returns who holds a lock, as far as can be told yet: a hold that another one, which it
// excludes, has followed just now has most likely ended, and its end is on its way. l.mu is held.
func (l *live) holding(lock string, at int64) []hold {
	var open []hold
	for _, h := range l.holds[lock] {
		if h.until != 0 {
			continue
		}
		followed := at
		for _, o := range l.holds[lock] {
			if o.from > h.from && history.Conflict(o.mode, h.mode) {
				followed = min(followed, o.from)
			}
		}
		if followed == at || followed < at-int64(feedLag) {
			open = append(open, h)
		}
	}
	return open
}

func (r *reporter) end() {
	close(r.stop)
	<-r.done
}
