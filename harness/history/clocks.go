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
