package check

import "locklab/harness/history"

// A hold is one client's belief that it has a lock: the half-open interval
// [from, until).
//
// Half-open, because a client that calls release at t does not believe at t any
// more, and one whose acquire returned at t does. Closed intervals would turn a
// hand-off stamped twice with the same nanosecond into an overlap that no two
// clients ever had; what half-open intervals can miss is an overlap of length
// zero, in which nothing can be done. A hold that was over before acquire
// returned is empty and overlaps nothing.
type hold struct {
	from, until int64
	by          *history.Acquisition
}

// eachOverlap visits every pair of holds of different clients that overlap, in
// order of the later one's beginning. The holds must be sorted by from. It takes
// O(n + pairs): a hold that has ended is looked at once more, and dropped.
//
// Two holds of one client are no overlap: it is one goroutine, and whatever it
// believes it cannot race with itself.
func eachOverlap(holds []hold, visit func(first, second *hold)) {
	var active []*hold
	for i := range holds {
		h := &holds[i]
		if h.until <= h.from {
			continue
		}
		still := active[:0]
		for _, a := range active {
			if a.until <= h.from {
				continue
			}
			still = append(still, a)
			if a.by.Client != h.by.Client {
				visit(a, h)
			}
		}
		active = append(still, h)
	}
}
