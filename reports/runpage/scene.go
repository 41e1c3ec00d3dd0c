package runpage

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/reports/result"
)

// A scene is the part of a run that the timeline shows: one lock, a span, and the clients that it is about.
type scene struct {
	result.Span
	Lock    string
	Clients []string       // the most important first
	Overlap *check.Finding // if the scene is about one
	Fault   *faultSpan     // if the scene is about one
	Title   string
}

// chooseScene chooses the most interesting scene: the finding that the run is about, else the first fault, else the
// first holds of the measured window. ok is false if the run has no grants and nothing was found.
func chooseScene(in result.Input, w result.Interval, faults []faultSpan) (s scene, ok bool) {
	name, f := featured(in)
	switch {
	case f != nil && result.IsOverlap(f):
		return overlapScene(in, faults, *f), true
	case f != nil:
		return findingScene(in, name, f), true
	}
	byLock := result.GrantsByLock(in.Acquisitions)
	if len(byLock) == 0 {
		return s, false
	}
	busiest := slices.MaxFunc(byLock, func(a, b []*history.Acquisition) int { return cmp.Compare(len(a), len(b)) })
	if len(faults) > 0 {
		return faultScene(busiest, &faults[0]), true
	}
	return firstHolds(busiest, w), true
}

// overlapScene begins a little before the fault that explains an overlap, or before the older hold if there is no
// such fault, and ends a little after the older hold.
func overlapScene(in result.Input, faults []faultSpan, f check.Finding) scene {
	s := scene{Lock: f.Lock, Clients: f.Clients, Overlap: &f, Title: "Two clients believed they held " + f.Lock + " " +
		"at once"}
	s.Span = result.Span{From: f.At, To: f.Until}
	start := f.At
	if older := holdOf(in.Acquisitions, f, 0); older != nil {
		newer := holdOf(in.Acquisitions, f, 1)
		switch {
		case older.Mode == history.ModePermit:
			s.Title = "More permits of " + f.Lock + " were believed held than there are"
		case older.Mode == history.ModeRead || newer != nil && newer.Mode == history.ModeRead:
			s.Title = "A reader and a writer believed they held " + f.Lock + " at once"
		}
		start = older.Returned
		s.To = max(s.To, newBeliefs(in).until(older))
	}
	for i := range faults {
		if faults[i].ID == f.Fault && f.Fault != "" {
			s.Fault = &faults[i]
			s.From = min(faults[i].From, f.At)
		}
	}
	// A long hold before the fault is cut off.
	start = max(start, s.From-max(3*(f.Until-f.At), (s.To-s.From)/4))
	s.From = min(s.From, start)
	s.pad(0.08)
	return s
}

// holdOf finds the acquisition of the finding's i-th client.
func holdOf(acq []history.Acquisition, f check.Finding, i int) *history.Acquisition {
	var best *history.Acquisition
	for k := range acq {
		a := &acq[k]
		if a.Lock != f.Lock || a.Client != f.Clients[i] || !a.Granted() || a.Returned > f.At {
			continue
		}
		if i < len(f.Tokens) && f.Tokens[i] != 0 && a.Token != f.Tokens[i] {
			continue
		}
		if best == nil || a.Returned > best.Returned {
			best = a
		}
	}
	return best
}

// findingScene shows the grants before a finding, and of what was found no more than three times as much, so that both
// can be seen. If there are no grants before it, it shows the first ones, and without grants all of what was found.
func findingScene(in result.Input, name string, f *check.Finding) scene {
	s := scene{Lock: f.Lock, Clients: f.Clients, Span: result.Span{From: f.At, To: f.At},
		Title: "What " + name + " found on " + f.Lock + ": " + strings.ReplaceAll(f.Kind, "-", " ")}
	var held []*history.Acquisition
	for _, of := range result.GrantsByLock(in.Acquisitions) {
		if of[0].Lock == f.Lock {
			held = of
		}
	}
	i, _ := slices.BinarySearchFunc(held, f.At, func(a *history.Acquisition, t int64) int {
		return cmp.Compare(a.Returned, t)
	})
	after := f.Until
	if i < len(held) {
		after = held[min(i+grantsBefore, len(held)-1)].Returned
	}
	s.To = after
	if i > 0 {
		s.From = min(s.From, held[i-min(i, grantsBefore)].Returned)
		s.To = min(max(after, f.Until), f.At+3*max(f.At-s.From, 1e6))
	}
	s.pad(0.03)
	return s
}

// The most grants that a scene of a fault shows before and after its injection.
const (
	grantsBefore = 12
	grantsAfter  = 40
)

// faultScene shows a fault, or its beginning if it is long and the run is busy.
func faultScene(held []*history.Acquisition, f *faultSpan) scene {
	s := scene{Span: f.Span, Lock: held[0].Lock, Fault: f, Title: "Who held " + held[0].Lock + " when a fault struck " +
		"(" + f.Label() + ")"}
	s.pad(0.2)
	i, _ := slices.BinarySearchFunc(held, f.From, func(a *history.Acquisition,
		t int64) int {
		return cmp.Compare(a.Returned, t)
	})
	if k := i - grantsBefore; k >= 0 {
		s.From = max(s.From, min(held[k].Returned, f.From))
	}
	if k := i + grantsAfter; k < len(held) {
		s.To = min(s.To, max(held[k].Returned, f.From+1))
	}
	s.pad(0.03)
	for _, a := range held { // clients on the hosts that were hit, and those that held the lock then
		if f.hits(a.Process) || a.Returned <= f.From && a.BelievedUntil(math.MaxInt64) > f.From {
			if !slices.Contains(s.Clients, a.Client) && len(s.Clients) < maxLanes/2 {
				s.Clients = append(s.Clients, a.Client)
			}
		}
	}
	return s
}

// firstHolds shows the first holds of the window.
func firstHolds(held []*history.Acquisition, w result.Interval) scene {
	const holds = 50
	s := scene{Lock: held[0].Lock, Title: "Who held " + held[0].Lock + " at the beginning of the measured window"}
	i := slices.IndexFunc(held, func(a *history.Acquisition) bool { return w.Contains(a.Returned) })
	if i < 0 {
		i, s.Title = 0, "Who held "+s.Lock+" at the beginning of the run"
	}
	last := held[min(i+holds, len(held))-1]
	s.Span = result.Span{From: held[i].Returned, To: last.Returned}
	if until := last.BelievedUntil(math.MaxInt64); until != math.MaxInt64 {
		s.To = until
	}
	s.pad(0.02)
	return s
}

// pad extends the scene by a share of its length on both sides.
func (s *scene) pad(share float64) {
	by := max(int64(float64(s.To-s.From)*share), 1e6)
	s.From, s.To = max(s.From-by, 0), s.To+by
}

// anchor is the time that the scene is about.
func (s *scene) anchor() int64 {
	switch {
	case s.Overlap != nil:
		return s.Overlap.At
	case s.Fault != nil:
		return s.Fault.From
	}
	return s.From
}
