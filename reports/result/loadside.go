package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"locklab/harness/hiccups"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/measure"
	"locklab/reports/words"
)

// The shares from which the load side makes a run void.
const (
	// lateShare is how late arrivals may be (p99), as a share of the latency that is allowed. They are part of it.
	lateShare = 0.1
	// othersShare is how much of the processors may be used by processes that are no part of the run.
	othersShare = 0.1
)

// UsedUp is the share from which a resource counts as used up.
const UsedUp = 0.9

// UseUp reports whether the load side and servers on its machine together use up the processors, all of which they
// share. Each is a mean number of processors; servers that use none are elsewhere.
func UseUp(load, servers, all float64) bool {
	return servers > 0 && all > 0 && (load+servers)/all >= UsedUp
}

// Void says how the load side, or another process beside it, was the limit of a run, so that a threshold that it misses
// says nothing about the servers; empty if it was not. Faults harm clients on purpose, so runs with faults are never
// void.
func (r *Result) Void() string { return cmp.Or(r.Hampered(), r.behind()) }

// Hampered is Void without regard to how late arrivals came.
func (r *Result) Hampered() string {
	if len(r.Faults) > 0 {
		return ""
	}
	if n := int64(r.number(clientDeaths)); n > 0 {
		return words.Count(n, "client process") + " ended by itself"
	}
	if n := int64(r.number(standstillExpiries)); n > 0 {
		return words.Count(n, "session") + " expired while the client process stood still"
	}
	if used, all := r.number(otherProcessors), r.number(processors); all > 0 && used > othersShare*all {
		return fmt.Sprintf("other processes used %s of %s processors", words.Digits3(used), words.Digits3(all))
	}
	return ""
}

// behind says that arrivals came late, in a run without faults. Where the servers have used up the processors that the
// load side shares with them, that is why.
func (r *Result) behind() string {
	load, served := r.number(loadProcessors), r.number(serverProcessors)
	bound, late := r.latencyBound(), r.lateness()
	if len(r.Faults) > 0 || bound == 0 || late == nil || float64(*late) <= lateShare*bound ||
		UseUp(load, served, r.number(processors)) && served >= load {
		return ""
	}
	return fmt.Sprintf("arrivals came late by %s (p99), more than a tenth of %s", words.Duration(*late),
		words.Duration(int64(bound)))
}

// number is the value of a quantity; 0 if it was not measured.
func (r *Result) number(q Quantity) float64 {
	if v := q.Value(r); v != nil {
		return *v
	}
	return 0
}

// lateness returns the p99 of how late arrivals came; nil if that is not known. What waits in a queue is not late, so
// with a queue the lateness of sleeps stands for it.
func (r *Result) lateness() *int64 {
	switch {
	case r.Queue > 0 && r.Hiccups != nil:
		return r.Hiccups.P99Ns
	case r.Queue > 0 || r.Latency.Arrival == nil:
		return nil
	}
	return r.Latency.Arrival.P99Ns
}

// latencyBound returns the least latency that the run's thresholds allow, in ns; 0 if they allow any.
func (r *Result) latencyBound() (least float64) {
	for _, l := range r.Thresholds {
		t, err := scenario.ParseThreshold(l.Expr)
		if err != nil {
			continue
		}
		if q, known := Named(t.Metric); known && q.isLatency() && strings.HasPrefix(t.Op, "<") &&
			(least == 0 || t.Limit < least) {
			least = t.Limit
		}
	}
	return least
}

var (
	clientDeaths = Quantity{Path: "quantities.client_deaths", Better: Lower,
		Means: "client processes that ended by themselves, or with a fault", Measure: countClientDeaths}
	standstillExpiries = Quantity{Path: "quantities.standstill_expiries", Better: Lower,
		Means: "sessions that expired in the window while their client process stood still", Measure: countStandstillExpiries}
)

// countClientDeaths counts the ends of client processes before the harness began to end them.
func countClientDeaths(run *rundir.Run, _ measure.Interval) *float64 {
	collects := run.Events.End() + 1
	for _, e := range run.Events.Of(history.OpPhase) {
		if e.Phase() == history.PhaseCollect {
			collects = e.At
		}
	}
	clients := clientHosts(run)
	n := 0.0
	for _, e := range run.Events.Of(history.OpProcess) {
		if e.ProcessChange().State == history.ProcessExited && e.At < collects && slices.Contains(clients, e.Process) {
			n++
		}
	}
	return &n
}

// countStandstillExpiries counts the sessions that expired about when a standstill of their process ended, which was
// long enough for that: a client that pings in each third of the session timeout can lose its session after two of
// them.
func countStandstillExpiries(run *rundir.Run, w measure.Interval) *float64 {
	timeout := run.Scenario.Negotiated()
	stood := map[string][]history.Event{}
	for _, e := range run.Events.Of(history.OpHiccup) {
		if e.Hiccup()+hiccups.Period >= timeout*2/3 {
			stood[e.Process] = append(stood[e.Process], e)
		}
	}
	n := 0.0
	for _, e := range run.Events.Of(history.OpExpired) {
		if w.Contains(e.At) && slices.ContainsFunc(stood[e.Process], func(s history.Event) bool {
			return time.Duration(max(e.At-s.At, s.At-e.At)) <= timeout
		}) {
			n++
		}
	}
	return &n
}

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
		if !a.Scheduled || a.Asked() >= w.Until {
			continue
		}
		steps = append(steps, step{a.Asked(), 1})
		if a.Returned != history.None && a.Returned < w.Until {
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
