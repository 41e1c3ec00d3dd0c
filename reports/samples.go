package reports

import (
	"cmp"
	"slices"

	"locklab/harness/history"
)

// The phases of an acquisition's life that have a latency.
const (
	PhaseAcquire = "acquire"
	PhaseHandoff = "handoff"
	PhaseHold    = "hold"
	PhaseRelease = "release"
)

// Phases lists the phases in the order in which they are shown.
var phases = [...]string{PhaseAcquire, PhaseHandoff, PhaseHold, PhaseRelease}

// samples returns the durations of every phase, in nanoseconds, of what was
// invoked in the window:
//
//   - acquire: acquire invoked → returned, for those granted;
//   - hold: granted → release invoked, for the same ones;
//   - release: release invoked → returned, whatever it answered with certainty;
//   - handoff: see handoffs.
func samples(acq []history.Acquisition, w window) map[string][]int64 {
	s := map[string][]int64{PhaseHandoff: handoffs(acq, w)}
	for i := range acq {
		a := &acq[i]
		if w.contains(a.Invoked) && a.Granted() {
			s[PhaseAcquire] = append(s[PhaseAcquire], a.Returned-a.Invoked)
			if a.ReleaseInvoked != history.None {
				s[PhaseHold] = append(s[PhaseHold], a.ReleaseInvoked-a.Returned)
			}
		}
		if w.contains(a.ReleaseInvoked) && a.ReleaseReturned != history.None && a.ReleaseOutcome == history.OK {
			s[PhaseRelease] = append(s[PhaseRelease], a.ReleaseReturned-a.ReleaseInvoked)
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
