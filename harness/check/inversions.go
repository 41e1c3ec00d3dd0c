package check

import (
	"cmp"
	"slices"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// overtaken says for each of the grants, which must be ordered by at, how many of those before it that exclude it have
// a higher token: how often it was overtaken. Those that are before it by less than slack do not count. A read is not
// overtaken by a read. The sum is the number of inversions. It takes O(n log n), by Fenwick trees over the ranks of
// the tokens. Mostly no token is lower than one before it; then it returns nil, because no grant was overtaken.
func overtaken(grants []*history.Acquisition, at func(*history.Acquisition) int64, slack int64) []int64 {
	if slices.IsSortedFunc(grants, byToken) {
		return nil
	}
	ranked := make([]int64, len(grants))
	for i, a := range grants {
		ranked[i] = a.Token
	}
	slices.Sort(ranked)
	ranked = slices.Compact(ranked)

	all, exclusive := newTally(len(ranked)), newTally(len(ranked))
	by := make([]int64, len(grants))
	added := 0
	for i, a := range grants {
		for ; added < i && at(grants[added])+slack <= at(a); added++ {
			rank, _ := slices.BinarySearch(ranked, grants[added].Token)
			if history.Exclusive(grants[added].Mode) {
				exclusive.add(rank)
			}
			all.add(rank)
		}
		rank, _ := slices.BinarySearch(ranked, a.Token)
		if history.Exclusive(a.Mode) {
			by[i] = all.above(rank)
		} else {
			by[i] = exclusive.above(rank)
		}
	}
	return by
}

// overtook reports whether b, which returned before a, was certainly granted before it though it should have been
// later.
func overtook(d *evidence.Digest, b, a *history.Acquisition) bool {
	return b.Token > a.Token && history.Conflict(b.Mode, a.Mode) &&
		b.Returned+d.Clocks().Between(b.Process, a.Process) <= a.Returned
}

// certainly says how many of the grants before a certainly overtook it, of which far did so by so much that no clocks
// matter.
func certainly(d *evidence.Digest, before []*history.Acquisition, a *history.Acquisition, far int64) int64 {
	for k := len(before) - 1; k >= 0 && before[k].Returned+d.Clocks().Most > a.Returned; k-- {
		if overtook(d, before[k], a) {
			far++
		}
	}
	return far
}

// A tally is a Fenwick tree that counts by rank.
type tally struct {
	n    int64
	tree []int64
}

func newTally(ranks int) *tally { return &tally{tree: make([]int64, ranks+1)} }

func (t *tally) add(rank int) {
	t.n++
	for k := rank + 1; k < len(t.tree); k += k & -k {
		t.tree[k]++
	}
}

// above counts what was added at a higher rank.
func (t *tally) above(rank int) int64 {
	n := t.n
	for k := rank + 1; k > 0; k -= k & -k {
		n -= t.tree[k]
	}
	return n
}

func sum(all []int64) int64 {
	var n int64
	for _, v := range all {
		n += v
	}
	return n
}

// withTokens returns the grants with a token that orders them, and so no permits, ordered by at. Of those at one
// instant the lower token comes first, so that a tie is not an inversion. What it returns may be grants itself.
func withTokens(grants []*history.Acquisition, at func(*history.Acquisition) int64) []*history.Acquisition {
	without := func(a *history.Acquisition) bool { return a.Token == 0 || !ordered(a) }
	order := func(a, b *history.Acquisition) int { return cmp.Or(cmp.Compare(at(a), at(b)), byToken(a, b)) }
	all := grants
	if slices.ContainsFunc(all, without) {
		all = slices.DeleteFunc(slices.Clone(grants), without)
	}
	if !slices.IsSortedFunc(all, order) {
		all = slices.Clone(all)
		slices.SortStableFunc(all, order)
	}
	return all
}

func byToken(a, b *history.Acquisition) int { return cmp.Compare(a.Token, b.Token) }

// ordered reports whether a's token says when it was granted relative to others.
func ordered(a *history.Acquisition) bool {
	return history.Exclusive(a.Mode) || a.Mode == history.ModeRead
}

func invokedAt(a *history.Acquisition) int64  { return a.Invoked }
func returnedAt(a *history.Acquisition) int64 { return a.Returned }
