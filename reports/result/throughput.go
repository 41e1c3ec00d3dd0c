package result

import (
	"cmp"
	"slices"

	"locklab/harness/history"
	"locklab/reports/measure"
)

func throughput(acq []history.Acquisition, w measure.Interval) Throughput {
	if w.Seconds() <= 0 {
		return Throughput{}
	}
	n := 0
	for i := range acq {
		if acq[i].Granted() && w.Contains(acq[i].Returned) {
			n++
		}
	}
	rate := float64(n) / w.Seconds()
	return Throughput{AcquiredPerS: &rate}
}

// offered adds the numbers of an open loop. An acquisition of several locks arrives once.
func (t *Throughput) offered(events *history.Log, acq []history.Acquisition, w measure.Interval) {
	var due, dropped int64
	for _, e := range events.Of(history.OpArrive, history.OpDropped) {
		if !w.Contains(e.At) {
			continue
		}
		switch e.Op {
		case history.OpArrive:
			due++
		case history.OpDropped:
			due++
			dropped++
		}
	}
	most, end := backlog(acq, w)
	t.Dropped, t.BacklogMax, t.BacklogEnd = &dropped, &most, &end
	if w.Seconds() > 0 {
		all, lost := float64(due)/w.Seconds(), float64(dropped)/w.Seconds()
		t.OfferedPerS, t.DroppedPerS = &all, &lost
	}
}

// backlog returns how many acquisitions were due and waiting at once, at most and at the window's end. An acquisition
// of several locks counts once for each lock.
func backlog(acq []history.Acquisition, w measure.Interval) (most, end int64) {
	type step struct{ at, by int64 }
	var steps []step
	for i := range acq {
		a := &acq[i]
		if !a.Scheduled || a.Asked() >= w.To {
			continue
		}
		steps = append(steps, step{a.Asked(), 1})
		if a.Returned != history.None && a.Returned < w.To {
			steps = append(steps, step{a.Returned, -1})
		}
	}
	// An acquisition that ends as another begins does not wait at the same time.
	slices.SortFunc(steps, func(a, b step) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	for _, s := range steps {
		end += s.by
		if s.at >= w.From {
			most = max(most, end)
		}
	}
	return most, end
}
