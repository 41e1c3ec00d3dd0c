package scenario

import (
	"fmt"
	"math"
	"time"
)

// Warnings says what will be done, but not quite as one might think. They are
// part of the result.
func (s *Scenario) Warnings() []string {
	var list []string
	warn := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if t := s.Negotiated(); t != s.SessionTimeout {
		lo, hi := s.SessionLimits()
		warn("session-timeout of %s becomes %s: the servers allow %s to %s",
			formatDuration(s.SessionTimeout), formatDuration(t), formatDuration(lo), formatDuration(hi))
	}
	if s.Workload == WorkloadSemaphore && s.Units > 1 && s.Wait == 0 {
		for _, r := range s.Recipes() {
			if r.OneByOne {
				warn("recipe %s takes %d units one by one, so clients may wait for each other's for ever, and without wait nobody gives up", r.Name, s.Units)
			}
		}
	}
	if s.Workload == WorkloadMultiLock && !s.Ordered && s.LocksPerAcquire > 1 && s.Wait == 0 {
		warn("clients that take locks in any order may deadlock, and without wait nobody gives up")
	}
	if rate, most := s.overload(); rate > 0 {
		warn("rate of %s a second is more than %d locks can be held, %s times for %s each: the rest will be dropped",
			formatNumber(rate), s.Locks, formatNumber(math.Floor(most)), distributionValue{&s.Hold})
	}
	deposed := time.Duration(s.SyncLimit) * s.Tick
	for _, f := range s.Faults {
		if f.Kind == FaultPartition && f.HitsServer() && f.Target != TargetFollower && s.Resolve(f.For) <= deposed {
			warn("%s: a leader that is cut off serves on for about %s (sync-limit × tick), so it may stay leader", f, formatDuration(deposed))
		}
		if f.Until == UntilSuperseded && s.Locks > 1 {
			warn("%s: that waits for another client to pick the victim's lock, of %d", f, s.Locks)
		}
		if s.Iterations > 0 {
			warn("%s: a run that ends with its iterations may end before the fault does", f)
		}
	}
	for i, f := range s.Faults {
		if down := s.serversDown(f, s.Faults[:i]); 2*down >= s.Servers && down > 0 {
			warn("%s: %d of %d servers are then out of action, so there is no quorum and no progress until one is healed", f, down, s.Servers)
		}
	}
	return list
}

// serversDown returns how many servers are out of action when the fault f
// strikes, with those of the others that are in force then.
func (s *Scenario) serversDown(f Fault, others []Fault) int {
	if !f.disables() {
		return 0
	}
	v := validator{Scenario: s}
	n := 1
	for _, g := range others {
		if g.disables() && g.Target != f.Target && v.meet(f, g) {
			n++
		}
	}
	return n
}

// disables reports whether the fault takes a server out of action.
func (f Fault) disables() bool {
	k, _ := findFaultKind(f.Kind)
	return k.Outage && f.HitsServer()
}
