package service

import (
	"cmp"
	"math"
	"slices"

	"locklab/ensembles/txnlog/nodes"
	"locklab/harness/history"
)

// A Placement puts the leaders' wall clock on the run's clock, by readings of both.
type Placement struct {
	Samples []reading // in the order of the wall clock
	// Err is by how much a time may be off either way, in ns: the clock's going, and the
	// millisecond in which the logs count. On several machines, it includes how far the
	// servers' wall clocks are off the harness's, and hosts off the run's clock.
	Err int64
	How string // err came about
}

// A reading is what the wall clock showed, in ns, at an instant of the run, which is known up to err either way.
type reading struct{ wall, at, err int64 }

// NewPlacement places the transactions by the harness's readings of the wall clock, which the servers of one machine
// share, and by readings of the wall clocks of other machines. Servers elsewhere have clocks of their own, which the
// harness's writes show.
func NewPlacement(events *history.Log, h *nodes.History) Placement {
	var pings []history.Event
	for _, e := range events.Of(history.OpPing) {
		pings = append(pings, e)
	}
	all, apart := pinged(pings, h)
	if len(pings) == 0 {
		for _, e := range events.Of(history.OpClock) {
			if is := e.WallClock(); is.Host == "" {
				all = append(all, reading{wall: is.Wall, at: e.At})
			}
		}
	}
	const jumped, slow = "jumped by", "was read too slowly: it is known only to within"
	p := Placement{Samples: all, Err: 1e6, How: jumped}
	for i, r := range all {
		err, how := 1e6+r.err, slow
		if i > 0 {
			change := Abs(offset(r) - offset(all[i-1]))
			err += change
			if change > r.err+all[i-1].err+1e6 { // by more than the two readings can be off
				how = jumped
			}
		}
		if err > p.Err {
			p.Err, p.How = err, how
		}
	}
	if apart > 0 {
		p.Err, p.How = p.Err+apart, jumped
	}
	if len(all) == 0 || len(pings) > 0 {
		return p
	}
	var off int64 // servers' wall clocks
	for _, e := range events.Of(history.OpClock) {
		if is := e.WallClock(); is.Host != "" {
			k, _ := slices.BinarySearchFunc(p.Samples, e.At, func(r reading, at int64) int { return cmp.Compare(r.at, at) })
			own := p.Samples[min(k, len(p.Samples)-1)]
			off = max(off, Abs(offset(reading{wall: is.Wall, at: e.At + is.Took/2})-offset(own))+is.Took/2)
		}
	}
	off += events.Clocks().Worst()
	if off > p.Err {
		p.How = "differs between machines by"
	}
	p.Err += off
	return p
}

// pinged reads the leader's clock by the harness's own writes: at some instant between the sending of each and its
// answer, the leader gave it the time that its transaction has. Of each ten pings that follow one another, the quickest
// counts, because it says most. If others contradict it, the clock jumped between them, and apart is by how much at
// most.
func pinged(pings []history.Event, h *nodes.History) (all []reading, apart int64) {
	const each = 10
	if len(pings) == 0 {
		return nil, 0 // a run may have millions of znodes
	}
	created := map[string]int64{}
	for _, l := range h.Lives {
		if l.Czxid != 0 { // the log may begin with a delete of a znode that is older
			created[l.Path] = l.Created
		}
	}
	for group := range slices.Chunk(pings, each) {
		var read []reading
		for _, e := range group {
			if ms, logged := created[e.Ping().Node]; logged {
				// The clock showed that millisecond, so on average half a millisecond more.
				half := int64(e.Ping().Took) / 2
				read = append(read, reading{wall: ms*1e6 + 5e5, at: e.At - half, err: half})
			}
		}
		if len(read) == 0 {
			continue
		}
		quickest := slices.MinFunc(read, func(a, b reading) int { return cmp.Compare(a.err, b.err) })
		for _, r := range read {
			apart = max(apart, Abs(offset(r)-offset(quickest))-r.err-quickest.err-1e6)
		}
		all = append(all, quickest)
	}
	slices.SortFunc(all, func(a, b reading) int { return cmp.Compare(a.wall, b.wall) })
	return all, apart
}

func offset(r reading) int64 { return r.wall - r.at }

func Abs(n int64) int64 { return max(n, -n) }

// At is when, on the run's clock, the leader's wall clock showed ms.
func (p Placement) At(ms int64) int64 {
	wall := ms * 1e6
	i, _ := slices.BinarySearchFunc(p.Samples, wall,
		func(r reading, wall int64) int { return cmp.Compare(r.wall, wall) })
	return wall - offset(p.Samples[max(i-1, 0)])
}

// Times are when a contender became eligible and when that ended, [math.MaxInt64] if it did not.
func (p Placement) Times(s *nodes.Span) (from, until int64) {
	if s.To == 0 {
		return p.At(s.FromTime), math.MaxInt64
	}
	return p.At(s.FromTime), p.At(s.ToTime)
}
