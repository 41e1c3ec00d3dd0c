// Package spans has times from one instant to another, such as those in which something was so.
package spans

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// A Span is a time from one instant to another.
type Span struct{ From, Until int64 }

// Lasts is how long it lasts.
func (s Span) Lasts() int64 { return s.Until - s.From }

// Overlaps reports whether both have an instant before their ends.
func (s Span) Overlaps(o Span) bool { return s.From < o.Until && o.From < s.Until }

// A List has times, in order of their beginning; none of them overlaps the next.
type List []Span

// Merged puts times in order and joins those that overlap.
func Merged(all []Span) List {
	slices.SortFunc(all, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var s List
	for _, x := range all {
		if n := len(s); n > 0 && x.From <= s[n-1].Until {
			s[n-1].Until = max(s[n-1].Until, x.Until)
			continue
		}
		s = append(s, x)
	}
	return s
}

// Within is how much of [from, until] they cover.
func (s List) Within(from, until int64) int64 {
	var sum int64
	for part := range s.Cut(from, until) {
		sum += part.Until - part.From
	}
	return sum
}

// Cut yields the parts of [from, until) that they have.
func (s List) Cut(from, until int64) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		for x := range s.Meeting(from, until) {
			if !yield(Span{max(x.From, from), min(x.Until, until)}) {
				return
			}
		}
	}
}

// Meeting yields those that have a part of [from, until).
func (s List) Meeting(from, until int64) iter.Seq[Span] {
	return func(yield func(Span) bool) {
		i, _ := slices.BinarySearchFunc(s, from, func(x Span, from int64) int { return cmp.Compare(x.Until, from) })
		for ; i < len(s) && s[i].From < until; i++ {
			if max(s[i].From, from) < min(s[i].Until, until) && !yield(s[i]) {
				return
			}
		}
	}
}

// Spent is when so much time is over since an instant that they do not cover, or the end of time.
func (s List) Spent(since, time int64) int64 {
	for _, x := range s {
		if x.From-since >= time {
			break
		}
		time -= max(x.From-since, 0)
		since = max(since, x.Until)
	}
	if since > math.MaxInt64-time {
		return math.MaxInt64
	}
	return since + time
}

// Touches reports whether one of them has an instant of [from, until].
func (s List) Touches(from, until int64) bool {
	i, _ := slices.BinarySearchFunc(s, from, func(x Span, from int64) int { return cmp.Compare(x.Until, from) })
	return i < len(s) && s[i].From <= until
}
