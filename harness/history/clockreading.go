package history

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

// offset is what the reading says about its clock.
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
