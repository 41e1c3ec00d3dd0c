package check

import (
	"fmt"

	"locklab/harness/history"
)

// Run judges a merged history, which must be sorted by time. It changes neither argument, never fails and never
// panics: what it cannot judge is unknown.
func Run(events *history.Log, facts Facts) Report {
	r := Report{Warnings: []string{}, Faults: []FaultRecord{}, Sometimes: []ConditionCount{}}
	d, err := safely(func() *digest { return newDigest(events, facts) })
	for _, c := range All() {
		v := Verdict{Result: Unknown, Summary: fmt.Sprintf("the history could not be read: %v", err)}
		if err == nil {
			v = judge(c, d, &r)
		}
		v.Name, v.Expected = c.Name, facts.Expected(c.Name)
		if v.Result == Fail && v.Expected == ExpectPass {
			v.Violation = true
		}
		r.Checks = append(r.Checks, v)
	}
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no check ran: %v", err))
	} else {
		r.Faults = d.faultRecords()
		r.Sometimes = append(r.Sometimes, d.conditions...)
		r.ServerHolds = d.serverHolds()
		r.Resolved = d.resolutions()
	}
	r.Verdict = r.Overall()
	return r
}

// judge runs one check. A check that panics leaves no numbers behind. Neither does one of an incomplete record, which
// no check of the lock can judge: [Assumptions] says what is missing.
func judge(c Check, d *digest, r *Report) Verdict {
	s := r.Safety
	v, err := safely(func() Verdict { return c.judge(d, &s) })
	if len(d.facts.Incomplete) > 0 && c.Name != Assumptions && (err != nil || v.Result != NotApplicable) {
		return Verdict{Result: Unknown, Summary: "the record is incomplete"}
	}
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("check %s broke: %v", c.Name, err))
		return Verdict{Result: Unknown, Summary: fmt.Sprintf("the check broke: %v", err)}
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
