package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"locklab/harness/history"
)

// A skew is by how much the resource's clock may be ahead of a client host's, in ns: at least lo, and at most hi.
//
// The record bounds it, because the resource serves a write after its client called it and before its client was told.
// Each write of which all three are recorded gives an interval, and clocks that go at one rate differ by a value within
// all of them. A run has one clock, so 0 is among these values, and the interval is what could not have been noticed.
// Where both hosts have different clocks that were placed on the run's, what is left may vary by err.
type skew struct {
	host   string
	lo, hi int64
	err    int64
}

// apart is by how much the clocks differ at most.
func (s *skew) apart() int64 { return max(s.hi, -s.hi, s.lo, -s.lo) }

// contradicts reports whether the clocks cannot be one.
func (s *skew) contradicts() bool { return s.lo > s.err || s.hi < -s.err || s.lo-s.hi > 2*s.err }

// A served is a write as the record has it: called, served and answered.
type served struct {
	called, at, answered int64
	by                   string // the process that served it
	twice                bool
}

// skews returns the bounds for each host with a client that wrote, in the order of their names.
func (d *Digest) skews() []skew {
	return d.skewed.Of(d.boundSkews)
}

// boundSkews does not rely on the order of the history, which is that of the clocks. A write is forgotten once all of
// it has been seen.
func (d *Digest) boundSkews() []skew {
	type write struct {
		client, lock string
		n, value     int64
	}
	writes := map[write]served{}
	set := func(at *int64, w *served, when int64) {
		w.twice = w.twice || *at != history.None // written again under the same hold
		*at = when
	}
	byHost := map[string]*skew{}
	for _, e := range d.Events.Of(history.OpWrite) {
		k := write{e.Client, e.Lock, e.Acq, e.Value}
		w := writes[k]
		if w == (served{}) {
			w = served{called: history.None, at: history.None, answered: history.None}
		}
		switch {
		case e.Process != history.HostOf(e.Client):
			set(&w.at, &w, e.At)
			w.by = e.Process
		case e.Kind == history.Invoke:
			set(&w.called, &w, e.At)
		case e.Kind == history.OK:
			set(&w.answered, &w, e.At)
		}
		writes[k] = w
		if w.twice || w.called == history.None || w.at == history.None || w.answered == history.None {
			continue
		}
		delete(writes, k)
		host := history.HostOf(e.Client)
		s := byHost[host]
		if s == nil {
			s = &skew{host: host, lo: math.MinInt64, hi: math.MaxInt64}
			byHost[host] = s
		}
		s.lo, s.hi = max(s.lo, w.at-w.answered), min(s.hi, w.at-w.called)
		s.err = max(s.err, d.Apart(host, w.by))
	}
	var all []skew
	for _, host := range SortedKeys(byHost) {
		all = append(all, *byHost[host])
	}
	return all
}

// OneClock says which hosts' clocks differ by the record itself. Instants of such hosts cannot be compared, and most
// checks compare them.
func (d *Digest) OneClock() []string {
	var reasons []string
	for _, s := range d.skews() {
		switch {
		case !s.contradicts():
		case s.lo > s.err && s.hi < -s.err || s.lo-s.hi > 2*s.err:
			reasons = append(reasons, fmt.Sprintf("the clocks of %s and the resource do not go alike: by its writes the "+
				"resource's is ahead by at least %s and by at most %s", s.host, Millis(s.lo), Millis(s.hi)))
		case s.lo > s.err:
			reasons = append(reasons, fmt.Sprintf("the resource's clock is ahead of that of %s by at least %s, because its "+
				"writes seem to be served after they were acknowledged", s.host, Millis(s.lo)))
		default:
			reasons = append(reasons, fmt.Sprintf("the resource's clock is behind that of %s by at least %s, because its "+
				"writes seem to be served before they were called", s.host, Millis(-s.hi)))
		}
	}
	return reasons
}

// Agreement says how far the clocks of all hosts agree by the record; empty if nothing bounds it.
func (d *Digest) Agreement() string {
	all := d.skews()
	switch within := d.placedWithin(); {
	case within != "":
		return within
	case len(all) == 0:
		return ""
	}
	return fmt.Sprintf("; by the record, no two clocks differ by more than %s", Millis(furthest(all)))
}

// furthest bounds how far any two clocks can differ: two clients' hosts differ by no more than each of them from the
// resource's.
func furthest(all []skew) int64 {
	var apart, second int64
	for i := range all {
		switch a := all[i].apart(); {
		case a > apart:
			apart, second = a, apart
		case a > second:
			second = a
		}
	}
	return apart + second
}

// A clockBound is how far the clocks of clients' hosts can differ: those that were placed on the run's by what that
// left open, all others by the record.
type clockBound struct {
	apart  map[string]int64 // by host: from the resource's
	Most   int64            // between any two clients' hosts
	placed *history.Clocks
}

// Clocks returns the run's clockBound. Hosts that told that they have the run's clock differ by nothing, unless the
// record contradicts them. That the clock of a host that never wrote to the resource is that of the others
// is taken for granted, unless it was found to be another one.
func (d *Digest) Clocks() *clockBound {
	return d.bound.Of(func() *clockBound {
		told := map[string]bool{}
		for _, e := range d.Events.Of(history.OpHostClock) {
			is := e.ClockReading()
			told[is.Host] = told[is.Host] || is.Same
		}
		all := slices.DeleteFunc(slices.Clone(d.skews()), func(s skew) bool { return told[s.host] && !s.contradicts() })
		bound := clockBound{apart: map[string]int64{}, placed: d.Events.Clocks()}
		for i := range all {
			bound.apart[all[i].host] = all[i].apart()
		}
		if len(d.ClientHosts) > 1 {
			bound.Most = max(furthest(all), d.Slack())
		}
		return &bound
	})
}

// Between is how far the clocks of two clients' hosts can differ.
func (c *clockBound) Between(p, q string) int64 {
	if p == q {
		return 0
	}
	if off := c.placed.Apart(p, q); off > 0 {
		return off
	}
	return c.apart[p] + c.apart[q]
}

// Within says that what lasted no longer than the clocks of two hosts can differ may not have been at all.
func (c *clockBound) Within(p, q string, lasted int64) Explanation {
	return notAttributable("by the record the clocks of %s and %s may differ by %s, and this took only %s", p, q,
		Millis(c.Between(p, q)), Millis(lasted))
}

// Hosts of several machines have several clocks. What they recorded is placed on the run's clock with an error
// ([history.Clocks]), so two instants of two hosts whose distance is below the sum of their errors may have come in
// either order. On one machine nothing is uncertain, and each of the functions below says so.
//
// What uncertainty does to the checks:
//
//   - Belief exclusion: an overlap, or the gap of a hand-off, that is shorter than the uncertainty is neither an
//     overlap nor none. It is left out if the servers' transactions show that it was a hand-off. Otherwise the
//     verdict is unknown, unless it fails by others and a fault explains this one as well.
//   - Tokens, fairness, refusals, hand-offs, conditions under sometimes, and late and stale accesses of clients'
//     records: pairs whose order is uncertain prove nothing. Those that would accuse somebody make the verdict unknown
//     or are left out.
//   - Faults, sessions and stalls: bounds that clients and servers must keep are longer, and those that a fault must
//     reach to explain something are shorter, by as much as any two hosts may be off ([Digest.Slack]). That a fault
//     struck a holder must be certain.
//   - Service exclusion: servers' transactions have times of the leader's wall clock, which may differ from the
//     harness's too. All of it is part of the error with which they are placed ([Placement]).
//   - What is exact: the order of the resource's record, of each client's own, and of the servers' transactions.
//
// If the readings of a clock contradict each other, or leave more open than [Stepped], the run's assumptions do not
// hold, and the run is unknown.

// Apart is by how much the times of two hosts may be off each other because they have different clocks.
func (d *Digest) Apart(p, q string) int64 { return d.Events.Clocks().Apart(p, q) }

// Slack is by how much the times of any two hosts may be off each other.
func (d *Digest) Slack() int64 { return d.Events.Clocks().Worst() }

// placedWithin says how closely other clocks are placed on the run's; empty if there are none.
func (d *Digest) placedWithin() string {
	var parts []string
	for _, u := range d.Events.Clocks().Uncertain() {
		parts = append(parts, fmt.Sprintf("%s within %s", strings.Join(u.Hosts, ", "), Millis(u.Err)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; clocks of other machines are placed on the run's: " + strings.Join(parts, "; ")
}

// An Expiry says when the servers expire the session of a client that they no longer hear of.
//
// An idle client sends a ping every third of its session timeout T, so the servers may have heard of it last up to T/3
// before it fell silent. A follower reports every half tick to the leader which sessions it has heard of. The leader
// expires a session once T is over since it heard of it, rounded up to a tick. So the session expires between 2/3 T
// and T + 1.5 ticks after its client fell silent.
//
// If its follower falls silent instead, just before a report is due, the last ping that the leader has heard of may be
// T/3 older than the report before. So the session expires up to half a tick sooner.
type Expiry struct {
	Timeout, Tick time.Duration
}

// PingEvery is the time from one ping of an idle client to the next, T/3.
func (e Expiry) PingEvery() time.Duration { return e.Timeout / 3 }

// ReportEvery is the time from one report of a follower to the next, half a tick.
func (e Expiry) ReportEvery() time.Duration { return e.Tick / 2 }

// Earliest is the shortest silence after which the session may expire, 2/3 T.
func (e Expiry) Earliest() time.Duration { return e.Timeout * 2 / 3 }

// EarliestBehind is Earliest of a silence that is not the client's but its follower's.
func (e Expiry) EarliestBehind() time.Duration { return e.Earliest() - e.ReportEvery() }

// Latest is the longest silence that the session may outlive, T + 1.5 ticks.
func (e Expiry) Latest() time.Duration { return e.Timeout + e.ReportEvery() + e.Tick }

// HandOff is how long a hand-off may take on a busy machine, in addition to what the protocol needs.
const HandOff = time.Second

// StallBound is how long a lock may stay free while a client waits for it.
func StallBound(timeout, tick time.Duration) time.Duration { return timeout + 2*tick + HandOff }

// Standstill is how long a process must have stood still for a stall to be excused.
func Standstill(tick time.Duration) time.Duration { return cmp.Or(tick, HandOff) }
