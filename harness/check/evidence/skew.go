package evidence

import (
	"fmt"
	"math"
	"slices"

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
	d.skewed.once.Do(func() { d.skewed.all = d.boundSkews() })
	return d.skewed.all
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
		case e.Process != HostOf(e.Client):
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
		host := HostOf(e.Client)
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
	d.bound.once.Do(func() {
		told := map[string]bool{}
		for _, e := range d.Events.Of(history.OpHostClock) {
			is := e.ClockReading()
			told[is.Host] = told[is.Host] || is.Same
		}
		all := slices.DeleteFunc(slices.Clone(d.skews()), func(s skew) bool { return told[s.host] && !s.contradicts() })
		d.bound.apart = map[string]int64{}
		for i := range all {
			d.bound.apart[all[i].host] = all[i].apart()
		}
		d.bound.placed = d.Events.Clocks()
		if len(d.ClientHosts) > 1 {
			d.bound.Most = max(furthest(all), d.Slack())
		}
	})
	return &d.bound.clockBound
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
