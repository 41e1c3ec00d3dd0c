package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Clocks places what hosts with clocks of their own recorded on the run's clock, which is the harness's, and says by
// how much it may be off. Nil Clocks are those of a run on one machine, where all hosts have the run's clock and
// nothing is off.
//
// A reading says that a host's clock showed a time at some instant between two of the run's. So it bounds the offset of
// the two clocks: the shorter the round trip, the closer. Two clocks drift apart by no more than one part in
// [driftParts]. Hence each reading bounds the offset at all other times too, less and less closely. The offset at any
// time is within what all readings say about it, and the middle of that is taken. The middle moves no faster than a
// clock may drift, so the order of the events of one clock stays as it was.
//
// Hosts of one machine share a clock, and so all the readings of it: among them nothing is off.
type Clocks struct {
	hosts  map[string]*track // of those that have another clock than the run's
	tracks []*track
}

// A track is one clock over the run.
type track struct {
	clock  string
	bounds []offset // by all readings, in order of time
	err    int64    // by how much a time may be off; see [track.uncertainty]
	broken string   // why its readings contradict each other; empty if they do not
}

// NewClocks returns the clocks of the hosts of which readings are given, nil if all have the run's.
func NewClocks(readings []ClockReading) *Clocks {
	c := &Clocks{hosts: map[string]*track{}}
	byClock := map[string]*track{}
	for _, r := range readings {
		if r.Same {
			continue
		}
		t := byClock[r.Clock]
		if t == nil {
			t = &track{clock: r.Clock}
			byClock[r.Clock] = t
			c.tracks = append(c.tracks, t)
		}
		c.hosts[r.Host] = t
		t.bounds = append(t.bounds, r.offset())
	}
	if len(c.tracks) == 0 {
		return nil
	}
	for _, t := range c.tracks {
		slices.SortStableFunc(t.bounds, func(a, b offset) int { return cmp.Compare(a.at, b.at) })
		t.settle()
	}
	return c
}

// settle lets each bound say what all readings say about its time.
func (t *track) settle() {
	b := t.bounds
	tighten := func(i, by int) {
		both, agree := b[i].and(b[by].drifted(b[i].at))
		if agree {
			b[i] = both
		} else if t.broken == "" {
			t.broken = fmt.Sprintf("between two readings %.3g s apart it went off by more than 1 part in %d",
				float64(max(b[i].at-b[by].at, b[by].at-b[i].at))/1e9, driftParts)
		}
	}
	// While the run lasts, events are placed by the readings so far.
	t.err = b[0].err()
	for i := 1; i < len(b); i++ {
		t.err = max(t.err, b[i-1].drifted(b[i].at).err())
		tighten(i, i-1)
	}
	for i := len(b) - 2; i >= 0; i-- {
		tighten(i, i+1)
	}
}

// at is what all readings say about a time.
func (t *track) at(at int64) offset {
	next, _ := slices.BinarySearchFunc(t.bounds, at, func(o offset, at int64) int { return cmp.Compare(o.at, at) })
	switch next {
	case 0:
		return t.bounds[0].drifted(at)
	case len(t.bounds):
		return t.bounds[next-1].drifted(at)
	}
	before, after := t.bounds[next-1].drifted(at), t.bounds[next].drifted(at)
	if both, agree := before.and(after); agree {
		return both
	}
	return before // broken
}

// place returns when a time of the clock was on the run's. A nil track is the run's clock.
func (t *track) place(at int64) int64 {
	if t == nil {
		return at
	}
	return at + t.at(at).by()
}

// covers notes that there are events from one time of the clock to another.
func (t *track) covers(from, until int64) {
	if t != nil {
		t.err = max(t.err, t.at(from).err(), t.at(until).err())
	}
}

// of is the track of a host's clock, nil if it is the run's.
func (c *Clocks) of(host string) *track {
	if c == nil {
		return nil
	}
	return c.hosts[host]
}

// Place returns when a time of a host's clock was on the run's.
func (c *Clocks) Place(host string, at int64) int64 { return c.of(host).place(at) }

// Covers notes that a host recorded events from one time of its clock to another, so that [Clocks.Err] bounds the error
// of each.
func (c *Clocks) Covers(host string, from, until int64) { c.of(host).covers(from, until) }

// Err is by how much a time that a host recorded may be off the run's clock, in ns. So may a time at which the host's
// agent did what the harness recorded.
func (c *Clocks) Err(host string) int64 {
	if t := c.of(host); t != nil {
		return t.err
	}
	return 0
}

// Apart is by how much the times of two hosts may be off each other, in ns: by nothing if they have one clock.
func (c *Clocks) Apart(p, q string) int64 {
	if c.of(p) == c.of(q) {
		return 0
	}
	return c.Err(p) + c.Err(q)
}

// Worst is by how much the times of any two hosts may be off each other at most.
func (c *Clocks) Worst() int64 {
	if c == nil {
		return 0
	}
	var worst int64
	for _, t := range c.tracks {
		worst = max(worst, 2*t.err)
	}
	return worst
}

// Broken says in words which clocks cannot be placed, because their readings contradict each other.
func (c *Clocks) Broken() (why []string) {
	for _, u := range c.Uncertain() {
		if t := c.of(u.Hosts[0]); t.broken != "" {
			why = append(why, fmt.Sprintf("the clock of %s cannot be placed: %s", u.Hosts[0], t.broken))
		}
	}
	return why
}

// An Uncertainty is by how much the times of hosts that share another clock than the run's may be off.
type Uncertainty struct {
	Hosts  []string `json:"hosts"`     // in order
	Offset int64    `json:"offset_ns"` // by which the run's clock was ahead at first
	Drift  int64    `json:"drift_ns"`  // by which that changed until the last reading
	Err    int64    `json:"err_ns"`    // either way
}

// Uncertain returns the uncertainties of all clocks but the run's, in the order of their first hosts.
func (c *Clocks) Uncertain() []Uncertainty {
	if c == nil {
		return nil
	}
	var all []Uncertainty
	known := map[*track]int{}
	for _, host := range slices.Sorted(maps.Keys(c.hosts)) {
		t := c.hosts[host]
		i, is := known[t]
		if !is {
			i = len(all)
			known[t] = i
			first, last := t.bounds[0].by(), t.bounds[len(t.bounds)-1].by()
			all = append(all, Uncertainty{Offset: first, Drift: last - first, Err: t.err})
		}
		all[i].Hosts = append(all[i].Hosts, host)
	}
	return all
}

// OpHostClock is about a host's clock. Info: it is another than the run's and was read; OK: it is the run's clock. See
// [ClockReading].
const OpHostClock Op = "host-clock"

// A ClockReading is what a host's clock showed when the harness asked for it.
type ClockReading struct {
	Host string
	// Clock names the clock, see [ClockName]. Hosts whose clocks have the same name share one.
	Clock string
	// Same says that it is the run's clock, which needs no reading.
	Same bool
	// Shows is what it showed, in ns, at some instant after the harness asked and before it had the answer. Asked is
	// when it asked, in ns on the run's clock, and Took is how long the answer took.
	Shows, Asked, Took int64
}

// Event returns the event that records the reading.
func (r ClockReading) Event() Event {
	e := Event{At: r.Asked, Op: OpHostClock, Target: r.Host, Detail: r.Clock, Value: r.Shows, Token: r.Took}
	if r.Same {
		e.Kind = OK
	}
	return e
}

// ClockReading returns the payload of an event of [OpHostClock].
func (e *Event) ClockReading() ClockReading {
	return ClockReading{Host: e.Target, Clock: e.Detail, Same: e.Kind == OK, Shows: e.Value, Asked: e.At, Took: e.Token}
}

const (
	// driftParts bounds by how much two clocks drift apart: by no more than one part in so many. That is 500 ppm, the
	// most by which NTP makes a clock go faster or slower. Readings that contradict it are noticed.
	driftParts = 2000
	// calibrated is by how much a reading may be off because Clocks are calibrated, see [NewClock].
	calibrated = 1000
)

// An offset says by how much the run's clock is ahead of another one when that shows at: by at least lo and at most hi.
// All are in ns.
type offset struct{ at, lo, hi int64 }

func (r ClockReading) offset() offset {
	return offset{at: r.Shows, lo: r.Asked - r.Shows - calibrated, hi: r.Asked + r.Took - r.Shows + calibrated}
}

// drifted is what o says about another time.
func (o offset) drifted(at int64) offset {
	apart := at - o.at
	if apart < 0 {
		apart = -apart
	}
	if apart > 0 {
		apart = apart/driftParts + 1
	}
	return offset{at, o.lo - apart, o.hi + apart}
}

// and joins what two offsets say about the same time, and reports whether they agree.
func (o offset) and(p offset) (both offset, agree bool) {
	both = offset{o.at, max(o.lo, p.lo), min(o.hi, p.hi)}
	return both, both.lo <= both.hi
}

// by is the offset that is taken for the true one. It is off by at most err.
func (o offset) by() int64  { return o.lo + (o.hi-o.lo)/2 }
func (o offset) err() int64 { return (o.hi-o.lo)/2 + 1 }

// A ClockFollower places the times of a host's clock on the run's while the run lasts, by the readings so far. Its zero
// value takes the clock for the run's. It is not for several goroutines at once.
type ClockFollower struct {
	last offset
	read bool
}

// Read takes in a reading, which must not be older than the last one.
func (f *ClockFollower) Read(r ClockReading) {
	if r.Same {
		return
	}
	o := r.offset()
	if f.read {
		if both, agree := f.last.drifted(o.at).and(o); agree {
			o = both
		}
	}
	f.last, f.read = o, true
}

// Same reports whether the clock is taken for the run's.
func (f *ClockFollower) Same() bool { return !f.read }

// ToRun returns when a time of the host's clock was on the run's.
func (f *ClockFollower) ToRun(at int64) int64 {
	if !f.read {
		return at
	}
	return at + f.last.by()
}

// ToHost returns what the host's clock shows at a time of the run's.
func (f *ClockFollower) ToHost(at int64) int64 {
	if !f.read {
		return at
	}
	return at - f.last.by()
}
