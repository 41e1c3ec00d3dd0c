package check

import (
	"cmp"
	"slices"

	"locklab/harness/history"
)

// overtaken says for each of grants, which must be in some order of happening,
// how many of those before it have a higher token: how often it was overtaken.
// Their sum is the number of inversions. O(n log n), by a Fenwick tree over the
// tokens' ranks.
func overtaken(grants []*history.Acquisition) []int64 {
	ranked := make([]int64, len(grants))
	for i, a := range grants {
		ranked[i] = a.Token
	}
	slices.Sort(ranked)
	ranked = slices.Compact(ranked)

	tree := make([]int64, len(ranked)+1)
	by := make([]int64, len(grants))
	for i, a := range grants {
		rank, _ := slices.BinarySearch(ranked, a.Token)
		notAbove := int64(0)
		for k := rank + 1; k > 0; k -= k & -k {
			notAbove += tree[k]
		}
		by[i] = int64(i) - notAbove
		for k := rank + 1; k < len(tree); k += k & -k {
			tree[k]++
		}
	}
	return by
}

func sum(all []int64) int64 {
	var n int64
	for _, v := range all {
		n += v
	}
	return n
}

// withTokens returns the exclusive grants that have a token, ordered by at; of
// those at one instant the lower token first, so that a tie is no inversion.
func withTokens(grants []*history.Acquisition, at func(*history.Acquisition) int64) []*history.Acquisition {
	var all []*history.Acquisition
	for _, a := range grants {
		if a.Token != 0 && a.Mode == "" {
			all = append(all, a)
		}
	}
	slices.SortStableFunc(all, func(a, b *history.Acquisition) int {
		return cmp.Or(cmp.Compare(at(a), at(b)), cmp.Compare(a.Token, b.Token))
	})
	return all
}

func invokedAt(a *history.Acquisition) int64  { return a.Invoked }
func returnedAt(a *history.Acquisition) int64 { return a.Returned }
