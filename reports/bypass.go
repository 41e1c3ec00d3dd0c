package reports

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"locklab/harness/history"
)

// maxBypass returns the most grants that went past one waiter, of those that
// asked in the window. A grant went past it if it was certainly asked for after
// the waiter had its place, and came first. The times at which two clients learn
// of their places need not be in the order of the places, hence "certainly": the
// later one's acquire was invoked after the earlier one's place was known. So it
// is a lower bound. Two holds of the same shared mode do not bypass each other.
// It is nil if no recipe reported places.
func maxBypass(acq []history.Acquisition, w window) *int64 {
	by := map[string][]*history.Acquisition{}
	for i := range acq {
		by[acq[i].Lock] = append(by[acq[i].Lock], &acq[i])
	}
	var most *int64
	for _, all := range by {
		slices.SortStableFunc(all, func(a, b *history.Acquisition) int { return cmp.Compare(over(a), over(b)) })
		asked := newRanks(all)
		for _, a := range all { // asked holds the grants that came before a's end
			if a.Queued != history.None && w.contains(a.Invoked) {
				n := asked.after(a.Queued, a.Mode)
				if most == nil || n > *most {
					most = &n
				}
			}
			if a.Granted() {
				asked.add(a)
			}
		}
	}
	return most
}

// over is when the wait was over, in whatever way.
func over(a *history.Acquisition) int64 {
	if a.Returned == history.None {
		return math.MaxInt64
	}
	return a.Returned
}

// ranks counts acquisitions by when they were invoked, in a Fenwick tree per
// mode, so that a run of a million grants is still counted in no time.
type ranks struct {
	times []int64
	trees map[string][]int64
}

func newRanks(held []*history.Acquisition) *ranks {
	r := &ranks{trees: map[string][]int64{}}
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
	// Counted from the back, so that a prefix sum is "at or after".
	i := len(r.times) - sort.Search(len(r.times), func(k int) bool { return r.times[k] >= a.Invoked })
	for ; i < len(tree); i += i & -i {
		tree[i]++
	}
}

// after counts those added that were invoked after t, except those of the same
// shared mode.
func (r *ranks) after(t int64, mode string) (n int64) {
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
