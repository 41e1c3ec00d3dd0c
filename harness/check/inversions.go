package check

import (
	"cmp"
	"slices"

	"locklab/harness/history"
)

// overtaken says for each of the grants, which must be in some order of happening, how many of those before it that
// exclude it have a higher token: how often it was overtaken. A read is not overtaken by a read. The sum is the number
// of inversions. It takes O(n log n), by Fenwick trees over the ranks of the tokens.
func overtaken(grants []*history.Acquisition) []int64 {
	ranked := make([]int64, len(grants))
	for i, a := range grants {
		ranked[i] = a.Token
	}
	slices.Sort(ranked)
	ranked = slices.Compact(ranked)

	all, exclusive := newTally(len(ranked)), newTally(len(ranked))
	by := make([]int64, len(grants))
	for i, a := range grants {
		rank, _ := slices.BinarySearch(ranked, a.Token)
		if history.Exclusive(a.Mode) {
			by[i] = all.above(rank)
			exclusive.add(rank)
		} else {
			by[i] = exclusive.above(rank)
		}
		all.add(rank)
	}
	return by
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
// instant the lower token comes first, so that a tie is not an inversion.
func withTokens(grants []*history.Acquisition, at func(*history.Acquisition) int64) []*history.Acquisition {
	var all []*history.Acquisition
	for _, a := range grants {
		if a.Token != 0 && ordered(a) {
			all = append(all, a)
		}
	}
	slices.SortStableFunc(all, func(a, b *history.Acquisition) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.Token, b.Token))
	})
	return all
}

// ordered reports whether a's token says when it was granted relative to others.
func ordered(a *history.Acquisition) bool {
	return history.Exclusive(a.Mode) || a.Mode == history.ModeRead
}

func invokedAt(a *history.Acquisition) int64  { return a.Invoked }
func returnedAt(a *history.Acquisition) int64 { return a.Returned }
