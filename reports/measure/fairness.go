package measure

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"

	"locklab/harness/history"
)

// Fairness says how evenly the lock was granted in the measured window, among the clients that wanted a lock in it.
type Fairness struct {
	// Jain is Jain's index of the grants per client: 1 if all got the same number, 1/n if one of n clients got all.
	Jain *float64 `json:"jain"`
	// Gini is the Gini coefficient of the grants per client: 0 if all got the same number.
	Gini *float64 `json:"gini"`
	// HoldRSD is the standard deviation of the time for which clients had a lock, over its mean: 0 if all had one for as
	// long. Clients with as many grants differ in it if their holds are not equally long.
	HoldRSD *float64 `json:"hold_rsd"`
	// FIFOInversions is how many grants against the queue's order the check counted.
	FIFOInversions *int64 `json:"fifo_inversions"`
	// MaxBypass is the most grants that one waiter in the queue saw go to clients that asked later.
	MaxBypass *int64 `json:"max_bypass"`
	// StarvedClients counts the clients that wanted a lock in the window and got none in it.
	StarvedClients *int64 `json:"starved_clients"`
	// LWSS is how many different clients share LWSSWindow successive grants of the lock with the most grants, on
	// average. LWSSWindow is the number of clients that got this lock, so both are equal if the clients strictly take
	// turns.
	LWSS       *float64 `json:"lwss"`
	LWSSWindow *int64   `json:"lwss_window"`
}

// Jain returns (Σx)² / (n·Σx²).
func Jain(x []int64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	return sum * sum / (float64(len(x)) * squares)
}

// Gini returns the Gini coefficient: Σ(2i−n−1)xᵢ / (n·Σx), x sorted, i from 1.
func Gini(x []int64) float64 {
	x = slices.Sorted(slices.Values(x))
	var sum, weighted float64
	for i, v := range x {
		sum += float64(v)
		weighted += float64(2*(i+1)-len(x)-1) * float64(v)
	}
	return weighted / (float64(len(x)) * sum)
}

// A Tally is how many grants a client got in the window.
type Tally struct {
	Client string
	Grants int64
}

// Tallies returns the grants in the window of every client that wanted a lock in it, the most first.
func Tallies(acq []history.Acquisition, w Interval) []Tally {
	n := map[string]int64{}
	for i := range acq {
		a := &acq[i]
		if a.Invoked < w.Until && (a.Returned == history.None || a.Returned >= w.From) {
			n[a.Client] += 0
		}
		if a.Granted() && w.Contains(a.Returned) {
			n[a.Client]++
		}
	}
	all := make([]Tally, 0, len(n))
	for c, k := range n {
		all = append(all, Tally{c, k})
	}
	slices.SortFunc(all, func(a, b Tally) int {
		return cmp.Or(cmp.Compare(b.Grants, a.Grants), CompareNatural(a.Client, b.Client))
	})
	return all
}

// HeldTimes returns for how long in the window each client believed that it had a lock, of the clients that wanted one
// in it or had one. What a client has twice at the same time counts twice.
func HeldTimes(acq []history.Acquisition, w Interval) map[string]int64 {
	held := map[string]int64{}
	for i := range acq {
		a := &acq[i]
		if a.Invoked >= w.Until {
			continue
		}
		if a.Returned == history.None || a.Returned >= w.From {
			held[a.Client] += 0
		}
		if !a.Granted() {
			continue
		}
		if had := min(a.BelievedUntil(w.Until), w.Until) - max(a.Returned, w.From); had > 0 {
			held[a.Client] += had
		}
	}
	return held
}

// holdRSD returns the relative standard deviation of the clients' times; nil if none of them had a lock.
func holdRSD(held map[string]int64) *float64 {
	var times []float64
	for _, client := range slices.Sorted(maps.Keys(held)) { // so that the sum does not depend on the map's order
		times = append(times, float64(held[client]))
	}
	if mean, sd := stat.PopMeanStdDev(times, nil); mean > 0 {
		return new(sd / mean)
	}
	return nil
}

func FairnessOf(acq []history.Acquisition, grants [][]*history.Acquisition, w Interval) Fairness {
	f := Fairness{HoldRSD: holdRSD(HeldTimes(acq, w))}
	all := Tallies(acq, w)
	var got []int64
	var sum, starved int64
	for _, t := range all {
		got = append(got, t.Grants)
		sum += t.Grants
		if t.Grants == 0 {
			starved++
		}
	}
	if len(got) == 0 {
		return f
	}
	f.StarvedClients = &starved
	if sum == 0 {
		return f
	}
	j, g := Jain(got), Gini(got)
	f.Jain, f.Gini = &j, &g
	f.MaxBypass = maxBypass(acq, w)
	f.LWSS, f.LWSSWindow = lwss(grants, w)
	return f
}

// lwss returns the mean number of different clients over all sequences of k successive grants of the busiest lock,
// where k is the number of clients that got it.
func lwss(locks [][]*history.Acquisition, w Interval) (mean *float64, k *int64) {
	var busiest []string
	for _, held := range locks {
		var owners []string
		for _, a := range held {
			if w.Contains(a.Returned) {
				owners = append(owners, a.Client)
			}
		}
		if len(owners) > len(busiest) {
			busiest = owners
		}
	}
	count := map[string]int{}
	for _, c := range busiest {
		count[c]++
	}
	size := len(count)
	if size < 2 || len(busiest) < 2*size {
		return nil, nil
	}
	clear(count)
	var sum float64
	for i, c := range busiest {
		count[c]++
		if i < size-1 {
			continue
		}
		sum += float64(len(count))
		first := busiest[i-size+1]
		if count[first]--; count[first] == 0 {
			delete(count, first)
		}
	}
	m, n := sum/float64(len(busiest)-size+1), int64(size)
	return &m, &n
}

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
