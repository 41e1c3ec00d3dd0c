package progress

import (
	"cmp"
	"math"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/check/spans"
	"locklab/harness/history"
)

// An occupancy says when others can have kept an attempt of a lock from being granted: readers do not keep readers from
// it, and a permit is free as long as not all are taken. Whoever waits for more than the attempt asks for keeps it from
// being granted too, because a fair lock serves the other first.
type occupancy struct {
	held   spans.List // by anybody
	barred spans.List // to readers
	taken  []taking
	levels map[int64][]level // by how many permits an attempt asks for
}

// A taking is a time in which permits are taken or, by one who waits, asked for.
type taking struct {
	spans.Span
	permits int64
	waits   bool
}

// A level is how many permits are taken from an instant on.
type level struct{ at, permits int64 }

// occupancyOf returns the occupancy of a lock by all its acquisitions, where until says how long a hold counts. So do
// holds elsewhere, of other locks that clients take together with this one.
func (l *LivenessJudge) occupancyOf(
	all, elsewhere []*history.Acquisition, until func(*history.Acquisition) int64,
) *occupancy {
	o := &occupancy{levels: map[int64][]level{}}
	for _, a := range slices.Concat(all, elsewhere) {
		if a.Granted() {
			hold := spans.Span{From: a.Returned, Until: max(a.Returned, until(a))}
			o.held = append(o.held, hold)
			if a.Mode != history.ModeRead {
				o.barred = append(o.barred, hold)
			}
			o.taken = append(o.taken, taking{hold, a.Permits, false})
		}
	}
	for _, a := range all {
		from, until := l.Waited(a)
		wait := spans.Span{From: from, Until: until}
		if a.Mode != history.ModeRead {
			o.barred = append(o.barred, wait)
		}
		o.taken = append(o.taken, taking{wait, a.Permits, true})
	}
	o.held, o.barred = spans.Merged(o.held), spans.Merged(o.barred)
	return o
}

// keeps reports whether others can have kept a, of a lock with so many permits, from being granted at an instant of
// [from, until].
func (o *occupancy) keeps(a *history.Acquisition, permits, from, until int64) bool {
	switch a.Mode {
	case history.ModeRead:
		return o.barred.Touches(from, until)
	case history.ModePermit:
		return o.most(a.Permits, from, until)+a.Permits > permits
	}
	return o.held.Touches(from, until)
}

// attempts is the occupancy of a lock by all who hold it or try to, however briefly: each counts from so long before
// its call until a while after its end. In it an attempt keeps itself away.
func (l *LivenessJudge) attempts(
	all []*history.Acquisition, before int64, until func(*history.Acquisition) int64,
) *occupancy {
	o := &occupancy{levels: map[int64][]level{}}
	for _, a := range all {
		try := spans.Span{From: a.Invoked - before, Until: min(evidence.Later(until(a), settled+before), math.MaxInt64-1)}
		o.taken = append(o.taken, taking{try, cmp.Or(a.Permits, others), false})
		if a.Mode != history.ModeRead {
			o.barred = append(o.barred, try)
		}
	}
	o.barred = spans.Merged(o.barred)
	return o
}

// others is how many permits a hold takes that is of no permits.
const others = 1 << 32

// keptAway reports whether any but a itself can have kept it from being granted during its call, as
// [LivenessJudge.attempts] has it, where the lock has so many permits.
func (o *occupancy) keptAway(a *history.Acquisition, permits int64) bool {
	switch a.Mode {
	case history.ModeRead:
		return o.barred.Touches(a.Invoked, a.Returned)
	case history.ModePermit:
		return o.most(0, a.Invoked, a.Returned) > permits
	}
	return o.most(0, a.Invoked, a.Returned) > others
}

// fullUntil is the last instant from a's call to its grant at which not enough of so many permits were free for it; the
// beginning of time if there is none. One that waits for several permits may have some of them, so that they count as
// taken, also its own.
func (o *occupancy) fullUntil(a *history.Acquisition, permits int64) int64 {
	levels := o.levelsFor(1)
	if a.Permits == 1 {
		permits--
	}
	i, _ := slices.BinarySearchFunc(levels, a.Returned, func(l level, at int64) int { return cmp.Compare(l.at, at) })
	until := a.Returned
	for i--; i >= 0 && until > a.Invoked; i-- {
		if levels[i].permits > permits {
			return until
		}
		until = levels[i].at - 1
	}
	return math.MinInt64
}

// levelsFor are how many permits were taken, for an attempt that asks for so many.
func (o *occupancy) levelsFor(asked int64) []level {
	levels, ok := o.levels[asked]
	if ok {
		return levels
	}
	for _, t := range o.taken {
		if !t.waits || t.permits > asked {
			levels = append(levels, level{t.From, t.permits}, level{t.Until + 1, -t.permits})
		}
	}
	slices.SortFunc(levels, func(a, b level) int { return cmp.Compare(a.at, b.at) })
	for i := range levels[min(1, len(levels)):] {
		levels[i+1].permits += levels[i].permits
	}
	o.levels[asked] = levels
	return levels
}

// most is how many permits at most were taken at an instant of [from, until], for an attempt that asks for so many.
func (o *occupancy) most(asked, from, until int64) (most int64) {
	levels := o.levelsFor(asked)
	i, _ := slices.BinarySearchFunc(levels, from+1, func(l level, at int64) int { return cmp.Compare(l.at, at) })
	if i > 0 {
		most = levels[i-1].permits
	}
	for ; i < len(levels) && levels[i].at <= until; i++ {
		most = max(most, levels[i].permits)
	}
	return most
}
