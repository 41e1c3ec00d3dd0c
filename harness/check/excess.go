package check

import (
	"cmp"
	"container/heap"
	"slices"

	"locklab/harness/check/effect"
	"locklab/harness/history"
)

// eachExcess visits where clients believed that they held more of a lock's permits than there are (model M4), as pairs
// of holds. The holds must be sorted by from, and all of them be of permits. It takes O(n log n), plus what the holds
// cost that continue at the beginning of an excess.
//
// The number of permits may change, and a hold outlives a reduction of it. So limit is the highest number that may have
// been in force from the first of two instants to the second, and a sum is judged at the instants at which the last of
// its holds can have been granted: since each of them can, and until the last of them began. What others held at such
// an instant was not there to be granted: see [decided].
//
// An excess begins when a hold begins that brings the sum above the limit; a hold that begins during an excess begins
// another one. Among the holds that continue then, the newest is the one that the service granted last, by the tokens.
// The service saw no excess if enough of the older ones were gone when it granted that. So the pairs are the newest
// with each of the fewest others that together have as many permits as are too many: first those that gone says can
// have been gone, the oldest first, then the others, the oldest first. With one permit that is each pair of holds, as
// for an exclusive lock.
//
// A pair lasts until one of the two ends, or so many of the holds that their sum is within the limit. A grant of more
// permits than there are is a pair with itself.
func eachExcess(
	holds []effect.Hold,
	limit func(from, until int64) int64,
	gone func(older, newer *history.Acquisition) bool,
	visit func(older, newer *effect.Hold, from, until, taken, inForce int64),
) {
	var active byUntil
	var taken int64
	// A hold whose acquire returned late finds the newest there already, and may find pairs of it that were visited:
	// these are kept, by the newest, until it ends.
	seen := map[*effect.Hold]map[*effect.Hold]bool{}
	for i := range holds {
		h := &holds[i]
		if h.Until <= h.From {
			continue
		}
		for len(active) > 0 && active[0].Until <= h.From {
			ended := heap.Pop(&active).(*effect.Hold)
			taken -= ended.By.Permits
			delete(seen, ended)
		}
		heap.Push(&active, h)
		taken += h.By.Permits
		if taken <= limit(h.From, h.From) {
			continue
		}
		in, limit := limit(h.From, h.From), decided(limit, active.since(), h.From, holds[:i])
		if taken <= limit {
			continue
		}
		newest, until := slices.MaxFunc(active, byGrant), active.within(limit, taken)
		var lost, there []*effect.Hold
		for _, a := range active {
			switch {
			case a == newest:
			case gone(a.By, newest.By):
				lost = append(lost, a)
			default:
				there = append(there, a)
			}
		}
		slices.SortFunc(lost, byGrant)
		slices.SortFunc(there, byGrant)
		older := append(lost, there...)
		if len(older) == 0 {
			older = []*effect.Hold{newest}
		}
		for excess := taken - limit; excess > 0 && len(older) > 0; older = older[1:] {
			excess -= older[0].By.Permits
			if seen[newest] == nil {
				seen[newest] = map[*effect.Hold]bool{}
			}
			if o := older[0]; !seen[newest][o] {
				seen[newest][o] = true
				visit(o, newest, h.From, min(until, o.Until, newest.Until), taken, in)
			}
		}
	}
}

// decided is how many permits there can have been for holds of which the last was granted at an instant of
// [since, from]: those in force then, without those of earlier holds that continued then and ended before from.
func decided(limit func(from, until int64) int64, since, from int64, earlier []effect.Hold) int64 {
	most := limit(since, from)
	if most == limit(from, from) {
		return most
	}
	instants := []int64{since, from}
	for _, h := range earlier {
		if h.Until > since && h.Until < from {
			instants = append(instants, h.Until)
		}
	}
	slices.Sort(instants)
	best := limit(from, from)
	for i, at := range instants[:len(instants)-1] {
		free := limit(at, instants[i+1]-1)
		for _, h := range earlier {
			if h.From <= at && h.Until > at && h.Until <= from {
				free -= h.By.Permits
			}
		}
		best = max(best, free)
	}
	return best
}

// byGrant is the order in which the service granted holds: by the tokens, because an acquire can return late, or by the
// returns if there are no tokens.
func byGrant(a, b *effect.Hold) int {
	if a.By.Token != 0 && b.By.Token != 0 && a.By.Token != b.By.Token {
		return cmp.Compare(a.By.Token, b.By.Token)
	}
	return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.By.Client, b.By.Client))
}

// byUntil is a heap of holds; the first to end is on top.
type byUntil []*effect.Hold

func (b byUntil) Len() int           { return len(b) }
func (b byUntil) Less(i, k int) bool { return b[i].Until < b[k].Until }
func (b byUntil) Swap(i, k int)      { b[i], b[k] = b[k], b[i] }
func (b *byUntil) Push(h any)        { *b = append(*b, h.(*effect.Hold)) }
func (b *byUntil) Pop() any {
	last := len(*b) - 1
	h := (*b)[last]
	*b = (*b)[:last]
	return h
}

// since is the earliest instant at which the last of the holds can have been granted.
func (b byUntil) since() int64 {
	return slices.MaxFunc(b, func(g, h *effect.Hold) int { return cmp.Compare(g.Since, h.Since) }).Since
}

// within is when no more than limit of the permits taken are left, if no other hold begins.
func (b byUntil) within(limit, taken int64) int64 {
	ends := slices.SortedFunc(slices.Values(b), func(a, b *effect.Hold) int { return cmp.Compare(a.Until, b.Until) })
	for _, h := range ends {
		if taken -= h.By.Permits; taken <= limit {
			return h.Until
		}
	}
	return ends[len(ends)-1].Until // not reached, because without holds nothing is taken
}

// mixed reports whether different clients had permits and other holds at once. Both are sorted by from.
func mixed(holds, permits []effect.Hold) bool {
	if len(holds) == 0 || len(permits) == 0 {
		return false
	}
	all := slices.Concat(holds, permits)
	slices.SortStableFunc(all, func(a, b effect.Hold) int { return cmp.Compare(a.From, b.From) })
	isPermit := func(h effect.Hold) bool { return h.By.Mode == history.ModePermit }
	var open []effect.Hold
	for _, h := range all {
		open = slices.DeleteFunc(open, func(o effect.Hold) bool { return o.Until <= h.From })
		if h.Until <= h.From {
			continue
		}
		if slices.ContainsFunc(open, func(o effect.Hold) bool {
			return o.By.Client != h.By.Client && isPermit(o) != isPermit(h)
		}) {
			return true
		}
		open = append(open, h)
	}
	return false
}
