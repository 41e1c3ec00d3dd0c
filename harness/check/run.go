package check

import (
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"locklab/harness/history"
)

// Run judges a merged history, which must be sorted by time. It changes neither argument, never fails and never
// panics: what it cannot judge is unknown.
func Run(events *history.Log, facts Facts) Report {
	r := Report{Warnings: []string{}, Faults: []FaultRecord{}, Sometimes: []ConditionCount{}}
	d, err := safely(func() *digest { return newDigest(events, facts) })
	if all := All(); err == nil {
		r.judge(d, all)
	} else {
		for range all {
			r.Checks = append(r.Checks,
				Verdict{Result: Unknown, Summary: fmt.Sprintf("the history could not be read: %v", err)})
		}
	}
	for i, c := range All() {
		v := &r.Checks[i]
		v.Name, v.Expected = c.Name, facts.Expected(c.Name)
		if v.Result == Fail && v.Expected == ExpectPass {
			v.Violation = true
		}
	}
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no check ran: %v", err))
	} else {
		r.Warnings = append(r.Warnings, d.remarks()...)
		r.Faults = d.faultRecords()
		d.addHarms(r.Faults, r.Check(BeliefExclusion), r.Check(Effect))
		r.Sometimes = append(r.Sometimes, d.conditions...)
		r.ServerHolds = d.serverHolds()
		r.Resolved = d.resolutions()
	}
	r.Verdict = r.Overall()
	return r
}

// judge appends the verdicts of the checks. Those that do not read the counters of others run at the same time, as many
// as there are processors.
func (r *Report) judge(d *digest, all []Check) {
	judged := make([]judgement, len(all))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range all {
		if !c.readsCounters {
			g.Go(func() error {
				judged[i] = judge(c, d, Safety{})
				return nil
			})
		}
	}
	_ = g.Wait() // none fails
	for i, c := range all {
		if c.readsCounters {
			judged[i] = judge(c, d, r.Safety)
		}
		r.add(&judged[i])
	}
}

// add adds what a check found.
func (r *Report) add(j *judgement) {
	r.Checks = append(r.Checks, j.Verdict)
	r.Safety.adopt(&j.safety)
	if j.broken != "" {
		r.Warnings = append(r.Warnings, j.broken)
	}
}

// A judgement is what one check found.
type judgement struct {
	Verdict
	safety Safety // the counters that the check counts
	broken string // a warning, if it panicked
}

// judge runs one check, which may read counters. A check that panics leaves no numbers behind. Neither does one of an
// incomplete record, which no check of the lock can judge: [Assumptions] says what is missing.
func judge(c Check, d *digest, counters Safety) judgement {
	v, err := safely(func() Verdict { return c.judge(d, &counters) })
	if len(d.facts.Incomplete) > 0 && c.Name != Assumptions && (err != nil || v.Result != NotApplicable) {
		return judgement{Verdict: Verdict{Result: Unknown, Summary: "the record is incomplete"}}
	}
	if err != nil {
		return judgement{Verdict: Verdict{Result: Unknown, Summary: fmt.Sprintf("the check broke: %v", err)},
			broken: fmt.Sprintf("check %s broke: %v", c.Name, err)}
	}
	d.number(v.Findings)
	return judgement{Verdict: v, safety: counters}
}

func safely[T any](f func() T) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f(), nil
}
