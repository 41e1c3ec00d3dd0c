package reports

import (
	"cmp"
	"slices"

	"locklab/harness/history"
)

// The phases of an acquisition's life that have a latency.
const (
	PhaseAcquire = "acquire"
	PhaseArrival = "arrival"
	PhaseService = "service"
	PhaseEnqueue = "enqueue"
	PhaseWait    = "wait"
	PhaseHandoff = "handoff"
	PhaseHold    = "hold"
	PhaseRelease = "release"
)

// The parts of PhaseAcquire by what was asked for, where there are both.
const (
	acquireRead  = "acquire_read"
	acquireWrite = "acquire_write"
)

// Phases lists the phases in the order in which they are shown.
var phases = [...]string{PhaseAcquire, PhaseArrival, PhaseService, PhaseEnqueue, PhaseWait, PhaseHandoff, PhaseHold, PhaseRelease}

// mainPhases are the phases that pictures show and comparisons weigh: the others are parts of them, and
// would say the same twice.
var mainPhases = [...]string{PhaseAcquire, PhaseHandoff, PhaseHold, PhaseRelease}

// openOnly reports whether a phase is known only where work arrives whether or not
// anybody is free.
func openOnly(phase string) bool { return phase == PhaseArrival || phase == PhaseService }

// samples returns the durations of every phase, in nanoseconds, of what was
// asked for in the window:
//
//   - acquire: asked for → returned, for those granted; of readers and writers
//     apart, too. Asked for is when it was due if work arrives by itself, else when it was
//     invoked: a stall that keeps clients from asking must not hide what it costs;
//   - arrival: due → invoked, and service: invoked → returned, of what was due, for the
//     same ones;
//   - enqueue: invoked → has its place in the queue, and wait: from there → returned, for those of
//     them that were seen to queue;
//   - hold: granted → release invoked, for the same ones;
//   - release: release invoked → returned, whatever it answered with certainty;
//   - handoff: see handoffs.
func samples(acq []history.Acquisition, w window) map[string][]int64 {
	s := map[string][]int64{PhaseHandoff: handoffs(acq, w)}
	add := func(phase string, from, to int64) { s[phase] = append(s[phase], to-from) }
	for i := range acq {
		a := &acq[i]
		if w.contains(a.Asked()) && a.Granted() {
			add(PhaseAcquire, a.Asked(), a.Returned)
			switch a.Mode {
			case history.ModeRead:
				add(acquireRead, a.Asked(), a.Returned)
			case history.ModeWrite:
				add(acquireWrite, a.Asked(), a.Returned)
			}
			if a.Scheduled {
				add(PhaseArrival, a.Asked(), a.Invoked)
				add(PhaseService, a.Invoked, a.Returned)
			}
			if a.Queued != history.None {
				add(PhaseEnqueue, a.Invoked, a.Queued)
				add(PhaseWait, a.Queued, a.Returned)
			}
			if a.ReleaseInvoked != history.None {
				add(PhaseHold, a.Returned, a.ReleaseInvoked)
			}
		}
		if w.contains(a.ReleaseInvoked) && a.ReleaseReturned != history.None && a.ReleaseOutcome == history.OK {
			add(PhaseRelease, a.ReleaseInvoked, a.ReleaseReturned)
		}
	}
	return s
}

// handoffs returns how long the lock was on its way from one client to the
// next: from the previous holder's release invoked to the next acquire
// returned, where that next client was already queued at that release (else
// the lock lay idle for a while, and the time says nothing about the lock).
//
// For an exclusive lock the previous holder is the one granted just before; if
// it had not called release by then (it was lost, or is a stale one that wakes
// up later), there is no hand-off to time. A grant of a lock that has shared modes
// is preceded by many holds, and the last release before it is taken of those that
// it can have waited for: a reader's, of writers; any other's, of all.
func handoffs(acq []history.Acquisition, w window) []int64 {
	var out []int64
	for _, held := range grantsByLock(acq) {
		shared := slices.ContainsFunc(held, func(a *history.Acquisition) bool { return !history.Exclusive(a.Mode) })
		last, lastExclusive := history.None, history.None // shared locks: the last releases so far
		releases := slices.Clone(held)
		slices.SortStableFunc(releases, func(a, b *history.Acquisition) int { return cmp.Compare(a.ReleaseInvoked, b.ReleaseInvoked) })
		for i, b := range held {
			released := history.None
			if shared {
				for len(releases) > 0 && releases[0].ReleaseInvoked <= b.Returned {
					if r := releases[0]; r.ReleaseOutcome == history.OK {
						last = r.ReleaseInvoked
						if history.Exclusive(r.Mode) {
							lastExclusive = last
						}
					}
					releases = releases[1:]
				}
				released = last
				if b.Mode == history.ModeRead {
					released = lastExclusive
				}
			} else if i > 0 {
				released = held[i-1].ReleaseInvoked
			}
			if w.contains(released) && released <= b.Returned && b.Queued != history.None && b.Queued <= released {
				out = append(out, b.Returned-released)
			}
		}
	}
	return out
}

// grantsByLock returns every lock's granted acquisitions in the order in which
// they were granted; the locks in the order of their names.
func grantsByLock(acq []history.Acquisition) [][]*history.Acquisition {
	by := map[string][]*history.Acquisition{}
	var locks []string
	for i := range acq {
		a := &acq[i]
		if !a.Granted() {
			continue
		}
		if by[a.Lock] == nil {
			locks = append(locks, a.Lock)
		}
		by[a.Lock] = append(by[a.Lock], a)
	}
	slices.Sort(locks)
	all := make([][]*history.Acquisition, 0, len(locks))
	for _, l := range locks {
		slices.SortStableFunc(by[l], func(a, b *history.Acquisition) int { return cmp.Compare(a.Returned, b.Returned) })
		all = append(all, by[l])
	}
	return all
}
