package result

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"locklab/chaos"
	"locklab/harness/check/spans"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/reports/measure"
)

// A Failover is what one fault did to the handing out of one exclusive lock. All times are on the run's clock.
//
// A fault of client processes counts where one of them held the lock, in its own belief, when the fault struck. The
// failover takes from then until the next grant of the lock to anybody. It is left out if the struck holder handed the
// lock over after all: its release before that grant was confirmed.
//
// A fault that takes servers out of the majority counts for every lock. The failover is the longest time that begins
// while the fault is in force and in which nobody held the lock, in the belief of the clients. The first grant after
// the fault is no measure, because it may have been decided before the fault, and an ensemble that is restarted server
// by server stands still more than once. It is left out if the lock was held all the time.
//
// A failover is censored, which makes its time a lower limit, if there was no grant any more in the run, or if the
// servers were brought back before the grant, which may be why there was one. A momentary fault brings them back by
// itself, so its failover is not censored for that.
type Failover struct {
	Fault string `json:"fault"` // the id of the fault
	Of    string `json:"of"`    // what the fault was, such as "kill leader"
	// Servers says that the fault struck servers.
	Servers bool `json:"servers"`
	// Lock is empty if the fault counts for no lock.
	Lock string `json:"lock,omitempty"`
	// TookNs is null if the failover is left out.
	TookNs   *int64 `json:"took_ns"`
	Censored bool   `json:"censored,omitempty"`
	// LeftOut says why the failover is not counted; empty if it is.
	LeftOut FailoverLeftOut `json:"left_out,omitempty"`
}

// A FailoverLeftOut is a reason for not counting a failover.
type FailoverLeftOut string

// The reasons.
const (
	FailoverUnverified FailoverLeftOut = "not verified"  // whether the fault took effect is not known
	FailoverNotHeld    FailoverLeftOut = "held no lock"  // the struck processes held no exclusive lock
	FailoverHandedOver FailoverLeftOut = "handed over"   // the struck holder released the lock with success
	FailoverNoWaiter   FailoverLeftOut = "nobody waited" // no client that was spared had asked for the lock
	FailoverDisturbed  FailoverLeftOut = "another fault" // another one that matters struck meanwhile, or before
	FailoverKept       FailoverLeftOut = "kept"          // servers: the lock was held all the time
	FailoverUnrecorded FailoverLeftOut = "record not whole"
	FailoverIdle       FailoverLeftOut = "not in use" // servers: the lock had not been granted in the window
)

// A strike is a fault as far as failovers depend on it.
type strike struct {
	id, of            string
	servers, disables bool
	momentary         bool
	hosts             []string
	at                int64 // when it was injected
	healed            int64 // when that was undone; [math.MaxInt64] if it never was
	whole             int64 // when that was verified; [math.MaxInt64] if it never was
	verified          bool
}

// strikes returns the faults that were injected, in that order.
func strikes(run *rundir.Run) (all []*strike) {
	for _, f := range history.Faults(run.Events) {
		if f.Injected == history.None {
			continue
		}
		s := &strike{id: f.ID, of: f.Kind, hosts: f.Hosts, at: f.Injected, healed: orNever(f.Healed),
			whole: orNever(f.HealVerified), verified: f.Verified != history.None}
		if i := slices.IndexFunc(run.Plan.Steps, func(p chaos.PlannedFault) bool { return p.ID == f.ID }); i >= 0 {
			s.planned(run.Plan.Steps[i].Fault)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *strike) int {
		return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.id, b.id))
	})
	return all
}

func orNever(at int64) int64 {
	if at == history.None {
		return math.MaxInt64
	}
	return at
}

// planned adds what the plan says of a fault.
func (s *strike) planned(f chaos.Fault) {
	s.of, s.servers, s.disables, s.momentary = f.Does(), f.HitsServer(), f.StopsServers(), f.Momentary()
}

// hits reports whether the fault struck the process of a client.
func (s *strike) hits(client string) bool {
	return slices.Contains(s.hosts, history.HostOf(client))
}

// overlaps reports whether the fault was in force, or had not been seen to be over, at some time of a span.
func (s *strike) overlaps(in spans.Span) bool { return s.at <= in.Until && in.From < s.whole }

// failoversOf returns the failovers whose faults struck in the window, in the order of the faults and of the names of
// the locks.
func failoversOf(run *rundir.Run, w measure.Interval) []Failover {
	all := strikes(run)
	if len(all) == 0 {
		return nil
	}
	found := failoversAfter(all, run.Acquisitions, history.Grants(run.Events), w)
	if len(run.Incomplete) > 0 { // a grant that is missing would make them longer
		for i := range found {
			found[i].TookNs, found[i].Censored, found[i].LeftOut = nil, false, FailoverUnrecorded
		}
	}
	return found
}

// failoversAfter returns what strikes, in their order, did to locks; grants are [history.Grants].
func failoversAfter(all []*strike, acq []history.Acquisition, grants [][]*history.Acquisition,
	w measure.Interval) []Failover {
	f := failoverFinder{all: all, asked: history.ByLock(acq, nil), window: w}
	for _, of := range grants {
		if !slices.ContainsFunc(of, func(a *history.Acquisition) bool { return !history.Exclusive(a.Mode) }) {
			f.locks = append(f.locks, of)
		}
	}
	var found []Failover
	for _, s := range f.all {
		if !w.Contains(s.at) || s.servers && !s.disables {
			continue
		}
		counted := len(found)
		for _, of := range f.locks {
			if one := f.find(s, of); one != nil {
				one.Fault, one.Of, one.Servers, one.Lock = s.id, s.of, s.servers, of[0].Lock
				found = append(found, *one)
			}
		}
		if len(found) == counted && !s.servers && f.strikesClients(s) {
			found = append(found, Failover{Fault: s.id, Of: s.of, LeftOut: FailoverNotHeld})
		}
	}
	return found
}

// A failoverFinder is what is known of a run whose failovers are looked for.
type failoverFinder struct {
	all    []*strike
	locks  [][]*history.Acquisition
	asked  map[string][]*history.Acquisition
	window measure.Interval
}

// strikesClients reports whether a fault struck a process that ever asked for a lock; the resource never does.
func (f *failoverFinder) strikesClients(s *strike) bool {
	for _, asked := range f.asked {
		if slices.ContainsFunc(asked, func(a *history.Acquisition) bool { return s.hits(a.Client) }) {
			return true
		}
	}
	return false
}

// find returns what a fault did to a lock; nil if it counts for another lock.
func (f *failoverFinder) find(s *strike, grants []*history.Acquisition) *Failover {
	next, _ := slices.BinarySearchFunc(grants, s.at, func(a *history.Acquisition, at int64) int {
		if a.Returned <= at {
			return -1
		}
		return 1
	})
	if s.servers {
		return f.standstill(s, grants, next)
	}
	if next == 0 {
		return nil
	}
	held := grants[next-1]
	if !s.hits(held.Client) || before(held.ReleaseInvoked, s.at) || before(held.Lost, s.at) {
		return nil
	}
	took := spans.Span{From: s.at, Until: f.window.End}
	if next < len(grants) {
		took.Until = grants[next].Returned
	}
	out := Failover{Censored: next == len(grants)}
	switch {
	case !s.verified:
		out.LeftOut = FailoverUnverified
	case before(held.ReleaseInvoked, took.Until) && held.ReleaseOutcome == history.OK:
		out.LeftOut = FailoverHandedOver
	case !f.waited(s, held.Lock, s.at):
		out.LeftOut = FailoverNoWaiter
	case f.disturbed(s, held.Lock, took):
		out.LeftOut = FailoverDisturbed
	default:
		out.TookNs = new(took.Lasts())
	}
	return &out
}

// standstill is find for a fault of servers; next is the place of the first grant after it.
func (f *failoverFinder) standstill(s *strike, grants []*history.Acquisition, next int) *Failover {
	if !s.verified {
		return &Failover{LeftOut: FailoverUnverified}
	}
	if next == 0 || grants[next-1].Returned < f.window.From {
		return &Failover{LeftOut: FailoverIdle}
	}
	longest, censored := spans.Span{From: s.at, Until: s.at}, false
	for ; next <= len(grants) && grants[next-1].Returned < s.healed; next++ {
		free := max(s.at, grants[next-1].BelievedUntil(math.MaxInt64))
		idle, last := spans.Span{From: free, Until: f.window.End}, next == len(grants)
		if !last {
			idle.Until = grants[next].Returned
		}
		late := idle.Until > s.healed && !s.momentary
		if late {
			idle.Until = s.healed
		}
		if idle.From < s.healed && idle.Lasts() > longest.Lasts() {
			longest, censored = idle, late || last
		}
	}
	switch {
	case longest.From == longest.Until:
		return &Failover{LeftOut: FailoverKept}
	case !f.waited(s, grants[0].Lock, longest.From):
		return &Failover{LeftOut: FailoverNoWaiter}
	case f.disturbed(s, grants[0].Lock, spans.Span{From: s.at, Until: longest.Until}):
		return &Failover{LeftOut: FailoverDisturbed}
	}
	return &Failover{TookNs: new(longest.Lasts()), Censored: censored}
}

// before reports whether something happened before an instant.
func before(what, at int64) bool { return what != history.None && what < at }

// waited reports whether a client that the fault spared had asked for a lock and was waiting at an instant.
func (f *failoverFinder) waited(s *strike, lock string, at int64) bool {
	for _, a := range slices.Backward(f.asked[lock]) { // the latest are the most likely to wait
		if waitsAt(a, at) && !s.hits(a.Client) {
			return true
		}
	}
	return false
}

// waitsAt reports whether an acquisition was under way at an instant.
func waitsAt(a *history.Acquisition, at int64) bool {
	return a.Invoked <= at && (a.Returned == history.None || a.Returned > at) && !before(a.Died, at)
}

// disturbed reports whether another fault may have changed the failover: one of servers or, of a fault of servers, any
// other. A fault of clients is also disturbed by one of a process that waits for the same lock.
func (f *failoverFinder) disturbed(s *strike, lock string, took spans.Span) bool {
	return slices.ContainsFunc(f.all, func(o *strike) bool {
		if o == s || !o.overlaps(took) {
			return false
		}
		return s.servers || o.servers || slices.ContainsFunc(f.asked[lock], func(a *history.Acquisition) bool {
			return waitsAt(a, s.at) && o.hits(a.Client)
		})
	})
}

// The quantities are of the failovers after faults of client processes.
var (
	failovers = Quantity{
		Path:  "quantities.failovers",
		Means: "times that a lock went to the next client because a fault had struck its holder",
		Measure: func(run *rundir.Run, w measure.Interval) *float64 {
			n := float64(len(holderFailovers(run, w)))
			return &n
		},
	}
	failoverMean = Quantity{
		Path: "quantities.failover_mean_ns", Unit: Nanoseconds, Better: Lower,
		Row:   "failover, on average",
		Means: "from when a fault struck the holder of a lock until the next client was granted it",
		Measure: func(run *rundir.Run, w measure.Interval) *float64 {
			return failoverTime(run, w, func(all []int64) float64 {
				sum := 0.0
				for _, d := range all {
					sum += float64(d)
				}
				return sum / float64(len(all))
			})
		},
	}
	failoverMax = Quantity{
		Path: "quantities.failover_max_ns", Unit: Nanoseconds, Better: Lower, Row: "failover, at most",
		Means: "the longest of these times",
		Measure: func(run *rundir.Run, w measure.Interval) *float64 {
			return failoverTime(run, w, func(all []int64) float64 { return float64(slices.Max(all)) })
		},
	}
)

// Failover returns how long failovers took on average and at most, in nanoseconds; nil if there were none.
func (r *Result) Failover() (mean, longest *int64) {
	if m, l := failoverMean.Value(r), failoverMax.Value(r); m != nil && l != nil {
		mean, longest = new(int64), new(int64)
		*mean, *longest = int64(*m), int64(*l)
	}
	return mean, longest
}

// failoverTime returns what of makes of the failovers' durations; nil if there were none.
func failoverTime(run *rundir.Run, w measure.Interval, of func([]int64) float64) *float64 {
	all := holderFailovers(run, w)
	if len(all) == 0 {
		return nil
	}
	n := of(all)
	return &n
}

// holderFailovers returns the durations of the failovers after faults of client processes that came to their end.
func holderFailovers(run *rundir.Run, w measure.Interval) (all []int64) {
	for _, f := range failoversOf(run, w) {
		if !f.Servers && f.TookNs != nil && !f.Censored {
			all = append(all, *f.TookNs)
		}
	}
	return all
}
