package measure

import (
	"cmp"
	"iter"
	"slices"
	"strings"

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

// PhaseAcquire by what was asked for, if a lock can be asked for to read and to write.
const (
	AcquireRead  = "acquire_read"
	AcquireWrite = "acquire_write"
)

// HoldResource is the part of PhaseHold that goes to the resource, of holds that write.
const HoldResource = "hold_resource"

// Phases lists the phases in the order in which they are shown.
var Phases = [...]string{PhaseAcquire, PhaseArrival, PhaseService, PhaseEnqueue, PhaseWait, PhaseHandoff, PhaseHold,
	PhaseRelease}

// MainPhases are the phases that pictures show. The others are parts of them.
var MainPhases = [...]string{PhaseAcquire, PhaseHandoff, PhaseHold, PhaseRelease}

// OpenOnly reports whether a phase is known in open loops only.
func OpenOnly(phase string) bool { return phase == PhaseArrival || phase == PhaseService }

// Samples yields the durations of every phase, in nanoseconds, of the acquisitions that were asked for in the window:
//
//   - acquire: asked for → returned, for those granted; also for readers and writers apart. In an open loop, asked
//     for is when it was due, so that a stall that keeps clients from asking does not hide its cost; else it is when
//     it was invoked;
//   - arrival: due → invoked, and service: invoked → returned, for the same ones in an open loop;
//   - enqueue: invoked → has its place in the queue, and wait: has its place → returned, for those of them that
//     were seen to queue;
//   - hold: granted → release invoked, for the same ones;
//   - release: release invoked → returned, if it succeeded;
//   - handoff: see handoffs.
func Samples(
	acq []history.Acquisition, grants [][]*history.Acquisition, w Interval, clocks *history.Clocks,
) iter.Seq2[string, int64] {
	return func(yield func(string, int64) bool) {
		if Handoffs(grants, w, clocks, func(took int64) bool { return yield(PhaseHandoff, took) }) {
			ownSamples(acq, w, yield)
		}
	}
}

// ownSamples yields the durations of all phases that are of one acquisition alone.
func ownSamples(acq []history.Acquisition, w Interval, yield func(string, int64) bool) {
	more := true
	add := func(phase string, took int64) { more = more && yield(phase, took) }
	for i := range acq {
		a := &acq[i]
		if w.Contains(a.Asked()) && a.Granted() {
			add(PhaseAcquire, a.Latency())
			switch a.Mode {
			case history.ModeRead:
				add(AcquireRead, a.Latency())
			case history.ModeWrite:
				add(AcquireWrite, a.Latency())
			}
			if a.Scheduled {
				add(PhaseArrival, a.Late)
				add(PhaseService, a.Returned-a.Invoked)
			}
			if a.Queued != history.None {
				add(PhaseEnqueue, a.Queued-a.Invoked)
				add(PhaseWait, a.Returned-a.Queued)
			}
			if a.ReleaseInvoked != history.None {
				add(PhaseHold, a.ReleaseInvoked-a.Returned)
			}
		}
		if w.Contains(a.ReleaseInvoked) && a.ReleaseReturned != history.None && a.ReleaseOutcome == history.OK {
			add(PhaseRelease, a.ReleaseReturned-a.ReleaseInvoked)
		}
		if !more {
			return
		}
	}
}

// Distributions returns how the durations of every phase are distributed; see [Samples].
func Distributions(events *history.Log, w Interval) map[string]*Recording {
	all := map[string]*Recording{}
	for _, phase := range append(Phases[:], AcquireRead, AcquireWrite) {
		all[phase] = NewRecording()
	}
	for phase, took := range Samples(history.Acquisitions(events), history.Grants(events), w, events.Clocks()) {
		all[phase].Add(took)
	}
	return all
}

// Handoffs yields how long the lock was on its way from one client to the next: from the previous holder's release
// invoked to the next acquire returned, if the next client was already queued at that release. Otherwise the lock was
// free for a while, and the time says nothing about the lock.
//
// For an exclusive lock the previous holder is the one granted just before. If it had not called release by then,
// because it was lost or is paused, there is no hand-off to time. In a lock with shared modes many holds precede a
// grant. Of the releases that the grant can have waited for, the last one counts: a reader waits for writers, and any
// other client for all.
//
// A hand-off between hosts that is shorter than their clocks may be off each other is left out.
//
// It reports whether more may follow.
func Handoffs(
	grants [][]*history.Acquisition, w Interval, clocks *history.Clocks, yield func(int64) bool,
) bool {
	for _, held := range grants {
		shared := slices.ContainsFunc(held, func(a *history.Acquisition) bool { return !history.Exclusive(a.Mode) })
		var last, lastExclusive *history.Acquisition // the last releases so far, of shared locks
		var releases []*history.Acquisition
		if shared {
			releases = slices.Clone(held)
			slices.SortStableFunc(releases, func(a, b *history.Acquisition) int {
				return cmp.Compare(a.ReleaseInvoked, b.ReleaseInvoked)
			})
		}
		for i, b := range held {
			var by *history.Acquisition
			if shared {
				for len(releases) > 0 && releases[0].ReleaseInvoked <= b.Returned {
					if r := releases[0]; r.ReleaseOutcome == history.OK {
						last = r
						if history.Exclusive(r.Mode) {
							lastExclusive = last
						}
					}
					releases = releases[1:]
				}
				by = last
				if b.Mode == history.ModeRead {
					by = lastExclusive
				}
			} else if i > 0 {
				by = held[i-1]
			}
			if by == nil {
				continue
			}
			released := by.ReleaseInvoked
			if w.Contains(released) && released <= b.Returned && b.Queued != history.None && b.Queued <= released &&
				b.Returned-released >= clocks.Apart(by.Process, b.Process) && !yield(b.Returned-released) {
				return false
			}
		}
	}
	return true
}

// CompareNatural orders names with numbers in them as people do: c2/9, c2/10, c10/1.
func CompareNatural(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y), cmp.Compare(na, nb)); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return cmp.Compare(len(a), len(b))
}

// digits returns how many digits s begins with.
func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}
