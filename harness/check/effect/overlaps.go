package effect

import "locklab/harness/history"

// A Hold is one client's belief that it has a lock: the half-open interval [from, until).
//
// It is half-open because a client that calls release at t does not believe at t any more, and one whose acquire
// returned at t does. Closed intervals would turn a hand-off stamped twice with the same nanosecond into an overlap
// that no two clients ever had. Half-open intervals can only miss an overlap of length zero, in which nothing can be
// done. A hold that was over before acquire returned is empty and overlaps nothing.
type Hold struct {
	From, Until int64
	By          *history.Acquisition
	// Since is the earliest instant at which permits can have been granted, see
	// [evidence.Digest.GrantedSince].
	Since int64
}

// EachOverlap visits every pair of holds of different clients that overlap and exclude each other (model M3: two reads
// do not), in the order in which the later ones began. The holds must be sorted by from, and none of them may be of
// permits. It takes O(n + pairs), because a hold that has ended is looked at once more and dropped, and a read looks
// at no other read.
//
// Two holds of one client do not overlap: a client is one goroutine, and whatever it believes, it cannot race with
// itself. So a writer may read.
func EachOverlap(holds []Hold, visit func(first, second *Hold)) {
	meet := func(active []*Hold, h *Hold) []*Hold {
		still := active[:0]
		for _, a := range active {
			if a.Until <= h.From {
				continue
			}
			still = append(still, a)
			if a.By.Client != h.By.Client {
				visit(a, h)
			}
		}
		return still
	}
	var exclusive, shared []*Hold
	for i := range holds {
		h := &holds[i]
		if h.Until <= h.From {
			continue
		}
		exclusive = meet(exclusive, h)
		if history.Exclusive(h.By.Mode) {
			shared = meet(shared, h)
			exclusive = append(exclusive, h)
		} else {
			shared = append(shared, h)
		}
	}
}
