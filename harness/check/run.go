package check

import (
	"fmt"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/check/progress"
	"locklab/harness/history"
)

// Run judges a merged history, which must be sorted by time. It changes neither argument, never fails and never
// panics: what it cannot judge is unknown.
func Run(events *history.Log, facts evidence.Facts) Report {
	r := Report{Warnings: []string{}, Faults: []effect.FaultRecord{}, Sometimes: []evidence.ConditionCount{}}
	d, err := evidence.Safely(func() *evidence.Digest { return evidence.NewDigest(events, facts) })
	if all := All(); err == nil {
		d.Contradictions = findContradictions(d)
		r.judge(d, all)
	} else {
		for range all {
			r.Checks = append(r.Checks,
				evidence.Verdict{Result: evidence.Unknown, Summary: fmt.Sprintf("the history could not be read: %v", err)})
		}
	}
	for i, c := range All() {
		v := &r.Checks[i]
		if err == nil && len(d.Contradictions) > 0 && v.Result == evidence.Fail {
			// It may be no more than a line that is wrong.
			v.Result, v.Violation = evidence.Unknown, false
			v.Summary += "; but the record contradicts itself: " + strings.Join(d.Contradictions, "; ")
		}
		v.Name, v.Expected = c.Name, Expected(&facts, c.Name)
		if v.Result == evidence.Fail && v.Expected == evidence.ExpectPass {
			v.Violation = true
		}
	}
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no check ran: %v", err))
	} else {
		r.Warnings = append(r.Warnings, remarks(d)...)
		if failures := progress.Failures(d); failures != "" {
			r.Caveats = append(r.Caveats, failures)
		}
		r.Faults = effect.FaultRecords(d)
		effect.AddHarms(d, r.Faults, r.Check(evidence.BeliefExclusion), r.Check(evidence.Effect))
		r.Sometimes = append(r.Sometimes, d.Conditions...)
		r.ServerHolds = serverHolds(d)
		r.Resolved = resolutions(d)
	}
	r.Verdict = r.Overall()
	return r
}

// judge appends the verdicts of the checks. Those that do not read the counters of others run at the same time, as many
// as there are processors.
func (r *Report) judge(d *evidence.Digest, all []evidence.Check) {
	judged := make([]judgement, len(all))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, c := range all {
		if !c.ReadsCounters {
			g.Go(func() error {
				judged[i] = judge(c, d, evidence.Safety{})
				return nil
			})
		}
	}
	_ = g.Wait() // none fails
	for i, c := range all {
		if c.ReadsCounters {
			judged[i] = judge(c, d, r.Safety)
		}
		r.add(&judged[i])
	}
}

// add adds what a check found.
func (r *Report) add(j *judgement) {
	r.Checks = append(r.Checks, j.Verdict)
	r.Safety.Adopt(&j.safety)
	if j.broken != "" {
		r.Warnings = append(r.Warnings, j.broken)
	}
}

// A judgement is what one check found.
type judgement struct {
	evidence.Verdict
	safety evidence.Safety // the counters that the check counts
	broken string          // a warning, if it panicked
}

// judge runs one check, which may read counters. A check that panics leaves no numbers behind. Neither does one of an
// incomplete record, which no check of the lock can judge: [evidence.Assumptions] says what is missing.
func judge(c evidence.Check, d *evidence.Digest, counters evidence.Safety) judgement {
	v, err := evidence.Safely(func() evidence.Verdict { return c.Judge(d, &counters) })
	if len(d.Facts.Incomplete) > 0 && c.Name != evidence.Assumptions && (err != nil ||
		v.Result != evidence.NotApplicable) {
		return judgement{Verdict: evidence.Verdict{Result: evidence.Unknown, Summary: "the record is incomplete"}}
	}
	if err != nil {
		return judgement{Verdict: evidence.Verdict{Result: evidence.Unknown, Summary: fmt.Sprintf("the check broke: %v",
			err)},
			broken: fmt.Sprintf("check %s broke: %v", c.Name, err)}
	}
	d.Number(v.Findings)
	return judgement{Verdict: v, safety: counters}
}
