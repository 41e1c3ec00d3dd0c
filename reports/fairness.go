package reports

import (
	"cmp"
	"slices"

	"locklab/harness/history"
)

// Fairness says how evenly the lock was given out in the measured window. The
// population is the clients that wanted a lock in it.
type Fairness struct {
	// Jain is Jain's index over grants per client: 1 is even, 1/n is one client
	// that got everything.
	Jain *float64 `json:"jain" metric:"share"`
	// Gini is the Gini coefficient over the same: 0 is even.
	Gini *float64 `json:"gini" metric:"share"`
	// FIFOInversions is the check's count of grants against the queue's order.
	FIFOInversions *int64 `json:"fifo_inversions"`
	// MaxBypass is the most grants that went past one waiter to clients that
	// had not even asked when it was already queued.
	MaxBypass *int64 `json:"max_bypass"`
	// StarvedClients wanted a lock in the window and got none in it.
	StarvedClients *int64 `json:"starved_clients"`
	// LWSS is how many different clients shared as many successive grants as
	// clients wanted the lock, on average, on the lock with the most grants:
	// equal to LWSSWindow if they strictly take turns.
	LWSS       *float64 `json:"lwss"`
	LWSSWindow *int64   `json:"lwss_window"`
}

// jain returns (Σx)² / (n·Σx²).
func jain(x []int64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	return sum * sum / (float64(len(x)) * squares)
}

// gini returns the Gini coefficient: Σ(2i−n−1)xᵢ / (n·Σx), x sorted, i from 1.
func gini(x []int64) float64 {
	x = slices.Sorted(slices.Values(x))
	var sum, weighted float64
	for i, v := range x {
		sum += float64(v)
		weighted += float64(2*(i+1)-len(x)-1) * float64(v)
	}
	return weighted / (float64(len(x)) * sum)
}

// A tally is how many grants a client got in the window.
type tally struct {
	Client string
	Grants int64
}

// tallies counts the grants returned in the window of every client that wanted
// a lock in it, most first.
func tallies(acq []history.Acquisition, w window) []tally {
	n := map[string]int64{}
	for i := range acq {
		a := &acq[i]
		if a.Invoked < w.To && (a.Returned == history.None || a.Returned >= w.From) {
			n[a.Client] += 0
		}
		if a.Granted() && w.contains(a.Returned) {
			n[a.Client]++
		}
	}
	all := make([]tally, 0, len(n))
	for c, k := range n {
		all = append(all, tally{c, k})
	}
	slices.SortFunc(all, func(a, b tally) int {
		return cmp.Or(cmp.Compare(b.Grants, a.Grants), compareNatural(a.Client, b.Client))
	})
	return all
}

func fairness(acq []history.Acquisition, w window) Fairness {
	var f Fairness
	all := tallies(acq, w)
	var grants []int64
	var sum, starved int64
	for _, t := range all {
		grants = append(grants, t.Grants)
		sum += t.Grants
		if t.Grants == 0 {
			starved++
		}
	}
	if len(grants) == 0 {
		return f
	}
	f.StarvedClients = &starved
	if sum == 0 {
		return f
	}
	j, g := jain(grants), gini(grants)
	f.Jain, f.Gini = &j, &g
	f.MaxBypass = maxBypass(acq, w)
	f.LWSS, f.LWSSWindow = lwss(acq, w)
	return f
}

// lwss returns the mean number of distinct clients over every run of k
// successive grants, k being the number of clients that got the busiest lock.
func lwss(acq []history.Acquisition, w window) (mean *float64, k *int64) {
	var busiest []string
	for _, held := range grantsByLock(acq) {
		var owners []string
		for _, a := range held {
			if w.contains(a.Returned) {
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
