package scenario

import (
	"fmt"
	"math"

	"locklab/harness/settings"
	"locklab/workloads"
)

// Warnings says what will be done, but differently from what the user may expect. Warnings are part of the result.
func (s *Scenario) Warnings() []string {
	var list []string
	warn := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if t := s.Negotiated(); t != s.SessionTimeout {
		lo, hi := s.SessionLimits()
		warn("session-timeout of %s becomes %s: the servers allow %s to %s",
			settings.FormatDuration(s.SessionTimeout), settings.FormatDuration(t), settings.FormatDuration(lo),
			settings.FormatDuration(hi))
	}
	if s.Workload == workloads.Semaphore && s.Units > 1 && s.Wait == 0 {
		for _, r := range s.Recipes() {
			if r.OneByOne {
				warn("recipe %s takes %d units one by one, so clients may wait for each other forever, "+
					"and without wait none gives up", r.Name, s.Units)
			}
		}
	}
	if s.Workload == workloads.MultiLock && !s.Ordered && s.LocksAtOnce > 1 && s.Wait == 0 {
		warn("clients that take locks in any order may deadlock, and without wait none gives up")
	}
	if rate, most := s.overload(); rate > 0 {
		warn("the rate reaches %s per second, but %d locks can be held only %s times per second for %s each, "+
			"so the rest will be dropped",
			settings.FormatNumber(rate), s.Locks, settings.FormatNumber(math.Floor(most)), s.Hold)
	}
	list = append(list, s.planned().Warnings(s.setting())...)
	return list
}
