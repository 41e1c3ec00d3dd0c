package measure

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"locklab/harness/history"
)

// maxBypass returns the most grants that went past one waiter; nil if no recipe reported places.
func maxBypass(acq []history.Acquisition, w Interval) *int64 {
	by := Bypasses(acq, w)
	if len(by) == 0 {
		return nil
	}
	return new(slices.Max(slices.Collect(maps.Values(by))))
}

// Bypasses returns, for each client that waited in a queue, the most grants that went past one of its waits that began
// in the window; nil if no recipe reported places. A grant went past a waiter if its client certainly asked after the
// waiter had its place, and was granted first. Clients need not learn of their places in the order of the places, so
// the later client's acquire must have been invoked after the waiter knew its place. The number is therefore a lower
// bound. Two holds of the same shared mode do not bypass each other.
func Bypasses(acq []history.Acquisition, w Interval) map[string]int64 {
	if !slices.ContainsFunc(acq, func(a history.Acquisition) bool { return a.Queued != history.None }) {
		return nil
	}
	by := map[string]int64{}
	for _, all := range history.ByLock(acq, nil) {
		slices.SortFunc(all, func(a, b *history.Acquisition) int {
			return cmp.Or(cmp.Compare(over(a), over(b)), cmp.Compare(a.Place, b.Place))
		})
		asked := newRanks(all)
		for _, a := range all { // asked holds the grants that came before a's end
			if a.Queued != history.None && w.Contains(a.Invoked) {
				by[a.Client] = max(by[a.Client], asked.after(a.Queued, a.Mode))
			}
			if a.Granted() {
				asked.add(a)
			}
		}
	}
	return by
}

// over is when the wait ended, with or without a grant.
func over(a *history.Acquisition) int64 {
	if a.Returned == history.None {
		return math.MaxInt64
	}
	return a.Returned
}

// ranks counts acquisitions by when they were invoked. It has a Fenwick tree for each mode, so that a run of a
// million grants is counted quickly.
type ranks struct {
	times []int64
	trees map[history.Mode][]int64
}

func newRanks(held []*history.Acquisition) *ranks {
	r := &ranks{trees: map[history.Mode][]int64{}}
	for _, a := range held {
		r.times = append(r.times, a.Invoked)
	}
	slices.Sort(r.times)
	return r
}

func (r *ranks) add(a *history.Acquisition) {
	tree := r.trees[a.Mode]
	if tree == nil {
		tree = make([]int64, len(r.times)+1)
		r.trees[a.Mode] = tree
	}
	// Times are counted from the last one, so that a prefix sum counts those at or after a time.
	i := len(r.times) - sort.Search(len(r.times), func(k int) bool { return r.times[k] >= a.Invoked })
	for ; i < len(tree); i += i & -i {
		tree[i]++
	}
}

// after counts the added acquisitions that were invoked after t, except those of the same shared mode.
func (r *ranks) after(t int64, mode history.Mode) (n int64) {
	first := len(r.times) - sort.Search(len(r.times), func(k int) bool { return r.times[k] > t })
	for m, tree := range r.trees {
		if m == mode && !history.Exclusive(m) {
			continue
		}
		for i := first; i > 0; i -= i & -i {
			n += tree[i]
		}
	}
	return n
}
