package check

import (
	"fmt"

	"locklab/harness/history"
)

// A checker judges a digested history. It fills in everything of the verdict but
// its name and expectation, and its own numbers of the safety block.
type checker struct {
	name  string
	check func(*digest, *Safety) Verdict
}

// The order is the order of a report. The last two judge the run rather than the
// lock, and [Shown] reads the numbers that those before it filled in.
var checkers = []checker{
	{ServiceExclusion, serviceExclusion},
	{BeliefExclusion, beliefExclusion},
	{Effect, effect},
	{Tokens, tokens},
	{Fairness, fairness},
	{Liveness, liveness},
	{Assumptions, assumptions},
	{Shown, shown},
}

// Run judges a merged history, which must be sorted by time. It changes neither
// argument, never fails and never panics: what it cannot judge is unknown.
func Run(events []history.Event, facts Facts) Report {
	r := Report{Warnings: []string{}, Faults: []FaultRecord{}}
	d, err := safely(func() *digest { return newDigest(events, facts) })
	for _, c := range checkers {
		v := Verdict{Result: Unknown, Summary: fmt.Sprintf("the history could not be read: %v", err)}
		if err == nil {
			v = judge(c, d, &r)
		}
		v.Name, v.Expected = c.name, facts.expected(c.name)
		if v.Result == Fail && v.Expected == ExpectPass {
			v.Violation = true
		}
		r.Checks = append(r.Checks, v)
	}
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no check ran: %v", err))
	} else {
		r.Faults = d.faultRecords()
		r.Held = d.held()
		r.Resolved = d.resolutions()
	}
	r.Verdict = r.Overall()
	return r
}

// judge runs one checker. One that panics leaves no numbers behind.
func judge(c checker, d *digest, r *Report) Verdict {
	s := r.Safety
	v, err := safely(func() Verdict { return c.check(d, &s) })
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("check %s broke: %v", c.name, err))
		return Verdict{Result: Unknown, Summary: fmt.Sprintf("the checker broke: %v", err)}
	}
	r.Safety = s
	d.number(v.Findings)
	return v
}

func safely[T any](f func() T) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f(), nil
}
