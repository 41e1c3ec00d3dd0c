package result

import (
	"fmt"
	"math"

	"locklab/harness/check/evidence"
	"locklab/harness/scenario"
	"locklab/reports/words"
)

// A ThresholdLine is a threshold and its verdict. It passes only if there is a number for which the comparison holds.
// If it cannot be judged it is unknown, and Reason says why.
type ThresholdLine struct {
	Expr string `json:"expr"`
	// Value is the number, in nanoseconds where Unit is "ns"; null if there is none.
	Value   *float64        `json:"value"`
	Unit    string          `json:"unit"`
	Verdict evidence.Result `json:"verdict"` // pass, fail (missed) or unknown
	Reason  string          `json:"reason"`  // empty for a pass
}

// Shown returns the value for a person.
func (l ThresholdLine) Shown() string {
	switch {
	case l.Value == nil:
		return words.Absent
	case l.Unit != "":
		return words.Duration(int64(*l.Value))
	}
	return words.Digits3(*l.Value)
}

// doubts say why a number that was measured proves nothing; "" for a sound number. The first reason makes the
// threshold unknown. They see the whole result except its verdict and headline, so they may compare a latency with
// other numbers.
var doubts = []func(r *Result, q Quantity, v float64) string{
	brokeOff, nothingAcquired, noSamples, unmeasuredHiccups, unsupported,
}

// unmeasuredHiccups doubts a latency that may be the machine's as well as the lock's.
func unmeasuredHiccups(r *Result, q Quantity, _ float64) string {
	if !q.isLatency() || r.Hiccups != nil && r.Hiccups.P99Ns != nil {
		return ""
	}
	if r.Hiccups == nil {
		return "no client process measured its hiccups"
	}
	return "too few samples of the hiccups that it may be below: " + words.Grouped(r.Hiccups.Samples)
}

func unsupported(r *Result, q Quantity, v float64) string {
	_, why := r.Supported(q.name, v)
	return why
}

func brokeOff(r *Result, _ Quantity, _ float64) string {
	if r.Partial {
		return "the run broke off before its end"
	}
	return ""
}

func nothingAcquired(r *Result, _ Quantity, _ float64) string {
	if r.Operations.Acquired == 0 {
		return "nothing was acquired in the measured window"
	}
	return ""
}

func noSamples(r *Result, q Quantity, _ float64) string {
	if n, counted := q.samples(r); counted && n == 0 {
		return "there are no samples of it"
	}
	return ""
}

// judgeThresholds judges each threshold by the numbers of the result.
func (r *Result) judgeThresholds(all []scenario.Threshold) {
	for _, t := range all {
		r.Thresholds = append(r.Thresholds, r.judgeThreshold(t))
	}
}

func (r *Result) judgeThreshold(t scenario.Threshold) ThresholdLine {
	l := ThresholdLine{Expr: t.String(), Verdict: evidence.Unknown}
	q, known := Named(t.Metric)
	if !known {
		l.Reason = "there is no such number in result.json"
		return l
	}
	if q.Unit == Nanoseconds {
		l.Unit = "ns"
	}
	value := q.Value(r)
	switch {
	case value == nil:
		l.Reason = r.whyNull(q)
		return l
	case math.IsNaN(*value) || math.IsInf(*value, 0):
		l.Reason = fmt.Sprintf("it came out as %v", *value)
		return l
	}
	v := *value
	l.Value = value
	for _, doubt := range doubts {
		if l.Reason = doubt(r, q, v); l.Reason != "" {
			return l
		}
	}
	holds, ok := compare(v, t.Op, t.Limit)
	switch {
	case !ok:
		l.Reason = fmt.Sprintf("there is no comparison %q", t.Op)
	case holds:
		l.Verdict = evidence.Pass
	default:
		l.Verdict, l.Reason = evidence.Fail, "it came to "+l.Shown()
	}
	return l
}

// whyNull says why a number is null.
func (r *Result) whyNull(q Quantity) string {
	n, counted := q.samples(r)
	switch {
	case r.Window.FromNs == nil:
		return "the run never reached its measured window"
	case counted && n > 0:
		return "too few samples for it: " + words.Grouped(n)
	case counted:
		return "there are no samples of it"
	}
	return "it was not measured"
}

// compare reports whether v op limit holds. ok is false if there is no such operator.
func compare(v float64, op string, limit float64) (holds, ok bool) {
	switch op {
	case "<":
		return v < limit, true
	case "<=":
		return v <= limit, true
	case ">":
		return v > limit, true
	case ">=":
		return v >= limit, true
	case "==":
		return v == limit, true
	case "!=":
		return v != limit, true
	}
	return false, false
}

// overall is the run's verdict, by its checks and thresholds. A violation counts even if other checks are unknown. A
// missed threshold says little about a run if another threshold is unknown. The exit codes have the same order.
func overall(checks evidence.Result, thresholds []ThresholdLine) evidence.Result {
	if checks != evidence.Pass {
		return checks
	}
	worst := evidence.Pass
	for _, t := range thresholds {
		switch t.Verdict {
		case evidence.Pass:
		case evidence.Fail:
			worst = evidence.Fail
		default:
			return evidence.Unknown
		}
	}
	return worst
}
