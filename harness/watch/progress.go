package watch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/harness/history"
	"locklab/reports/words"
)

// Progress is the state of a run, as far as it is known while the run lasts.
type Progress struct {
	// Scenario is the run's name; Clients and Locks are how many there are.
	Scenario       string
	Clients, Locks int
	// External says that the servers are there already, and were not started for the run.
	External bool
	// Elapsed is the time since the clients' start, and Planned how long they are to work; 0 = until they are done.
	Elapsed, Planned time.Duration
	// Phase is the one the run is in, e.g. measure.
	Phase history.Phase
	// Connected is how many clients are connected.
	Connected int
	// Acquired counts grants so far. Rate is the grants per second of the last second, and Rates has those of all
	// seconds, the last one included.
	Acquired int
	Rate     float64
	Rates    []float64
	// P50 and P99 are percentiles of the acquisitions of the last second; 0 if there are too few.
	P50, P99 time.Duration
	// Waiting is how many clients wait for a lock, LongestWait the longest of those waits so far, and Holding how many
	// holds there are.
	Waiting, Holding int
	LongestWait      time.Duration
	// Holders are the holds by lock and then by age, if there are at most mostLocks locks.
	Holders []Holder
	// Faults are the faults in force, in words.
	Faults []string
	// Overlaps counts pairs of clients that were seen to believe at once; -1 = only the verdict can say, as with
	// permits or with more holds a second than are kept. Lost counts lost updates; -1 = it cannot be said, because
	// writers may hold the lock together.
	Overlaps, Lost int
	// Stale counts accesses that the resource accepted although a later holder had followed, and Refused those that it
	// refused for that reason.
	Stale, Refused int

	_ struct{}
}

// A Holder is a client that believes it holds a lock.
type Holder struct {
	Lock, Client string
	Mode         history.Mode
	For          time.Duration
}

// mostLocks is the number of locks up to which progress names their holders.
const mostLocks = 8

// String returns the progress as one plain line.
func (p Progress) String() string {
	switch p.Phase {
	case history.PhaseEnsemble:
		return fmt.Sprintf("       %-8s %s", p.Phase, p.beginning())
	case history.PhaseConnect:
		return fmt.Sprintf("       %-8s %d of %d clients connected", p.Phase, p.Connected, p.Clients)
	}
	p99 := "-"
	if p.P99 > 0 {
		p99 = words.Duration(int64(p.P99))
	}
	faults := "none"
	if len(p.Faults) > 0 {
		faults = strings.Join(p.Faults, "; ")
	}
	overlaps := "-"
	if p.Overlaps >= 0 {
		overlaps = strconv.Itoa(p.Overlaps)
	}
	return fmt.Sprintf("%5.1fs %-8s %6.0f acquired/s  p99 %-9s faults: %s  overlaps: %s",
		p.Elapsed.Seconds(), p.Phase, p.Rate, p99, faults, overlaps)
}

// The numbers of samples from which on percentiles are shown.
const (
	enoughForP50 = 2
	enoughForP99 = 100
)

// second fills in what was measured since it was called last. v.mu is held.
func (v *View) second(p *Progress) {
	p.P50, p.P99 = 0, 0
	if n := v.recent.TotalCount(); n >= enoughForP50 {
		p.P50 = time.Duration(v.recent.ValueAtQuantile(50))
		if n >= enoughForP99 {
			p.P99 = time.Duration(v.recent.ValueAtQuantile(99))
		}
	}
	v.recent.Reset()
}

// progress fills in the state of this moment. v.mu is held.
func (v *View) progress(p *Progress, now time.Time) {
	at := v.config.Clock.At(now)
	p.Acquired, p.Overlaps, p.Stale, p.Refused = v.acquired, v.overlaps, v.stale, v.refused
	p.Connected = 0
	for _, h := range v.hosts {
		p.Connected += h.connected
	}
	p.Waiting, p.LongestWait = 0, 0
	for _, c := range v.clients {
		if c.waits {
			p.Waiting++
			p.LongestWait = max(p.LongestWait, time.Duration(at-c.asked))
		}
	}
	p.Lost, p.Holding, p.Holders = 0, 0, nil
	for _, path := range slices.Sorted(maps.Keys(v.locks)) {
		l := v.locks[path]
		p.Lost += int(max(0, l.writes-l.value)) // below 0 while the records of clients arrive out of order
		for _, h := range l.holding(at) {
			p.Holding++
			if len(v.locks) <= mostLocks {
				p.Holders = append(p.Holders, Holder{path, h.client, h.mode, max(0, time.Duration(at-h.from))})
			}
		}
	}
	if v.shared || v.config.Lists {
		p.Lost = -1
	}
	if v.config.KeptInZooKeeper {
		p.Stale = -1
	}
	if v.uncounted {
		p.Overlaps = -1
	}
}

// feedLag is how much later the events of one process may arrive than those of another.
const feedLag = 500 * time.Millisecond

// holding returns the holds that last, as far as is known yet. If a hold has just been followed by another that it
// excludes, it has most likely ended, and the record of its end has yet to arrive.
func (l *lock) holding(at int64) []hold {
	var open []hold
	for _, h := range l.open {
		followed := at
		for o := range l.holds() {
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
