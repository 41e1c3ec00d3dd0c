package reports

import (
	"fmt"
	"math"
	"strconv"

	"locklab/harness/check"
)

// A Threshold is a limit that a number of the result must keep to.
type Threshold struct {
	Expr   string  // as a person writes it: acquire.p99 < 50ms
	Metric string  // the name of a [Metric]
	Op     string  // < <= > >= == !=
	Limit  float64 // in nanoseconds for a duration
}

// A ThresholdLine is what became of a threshold. It passes only if there is a number
// that the comparison holds for; what cannot be judged is unknown, and Reason says why.
type ThresholdLine struct {
	Expr string `json:"expr"`
	// Value is the number, in nanoseconds where Unit is "ns"; null if there is none.
	Value   *float64     `json:"value"`
	Unit    string       `json:"unit"`
	Verdict check.Result `json:"verdict"` // pass, fail (missed) or unknown
	Reason  string       `json:"reason"`  // empty for a pass
}

// Shown returns the value for a person.
func (l ThresholdLine) Shown() string {
	switch {
	case l.Value == nil:
		return absent
	case l.Unit != "":
		return duration(int64(*l.Value))
	}
	return strconv.FormatFloat(*l.Value, 'g', 6, 64)
}

// doubts say why a number that is there proves nothing; the first with something to
// say counts, and the threshold is unknown. They return nothing for a sound number.
// They see the whole result but its verdict and headline, so one may hold a latency
// against what else was measured.
var doubts = []func(r *Result, m Metric, v float64) string{
	brokeOff, nothingAcquired, noSamples, unmeasuredHiccups, unsupported,
}

// unmeasuredHiccups doubts a latency of which nobody can say whether it is the lock's or the machine's.
func unmeasuredHiccups(r *Result, m Metric, _ float64) string {
	if !isLatency(m.Name) || r.Hiccups != nil && r.Hiccups.P99Ns != nil {
		return ""
	}
	if r.Hiccups == nil {
		return "no client process measured its hiccups"
	}
	return "too few samples of the hiccups that it may be below: " + grouped(r.Hiccups.Samples)
}

func unsupported(r *Result, m Metric, v float64) string {
	_, why := r.Supported(m.Name, v)
	return why
}

func brokeOff(r *Result, _ Metric, _ float64) string {
	if r.Partial {
		return "the run broke off before its end"
	}
	return ""
}

func nothingAcquired(r *Result, _ Metric, _ float64) string {
	if r.Operations.Acquired == 0 {
		return "nothing was acquired in the measured window"
	}
	return ""
}

func noSamples(r *Result, m Metric, _ float64) string {
	if n, counted := m.samples(r); counted && n == 0 {
		return "there are no samples of it"
	}
	return ""
}

// judgeThresholds judges each threshold by the numbers that the result has by now.
func (r *Result) judgeThresholds(all []Threshold) {
	for _, t := range all {
		r.Thresholds = append(r.Thresholds, r.judgeThreshold(t))
	}
}

func (r *Result) judgeThreshold(t Threshold) ThresholdLine {
	l := ThresholdLine{Expr: t.Expr, Verdict: check.Unknown}
	m, known := metricNamed(t.Metric)
	if !known {
		l.Reason = "there is no such number in result.json"
		return l
	}
	if m.Duration {
		l.Unit = "ns"
	}
	v, there := m.of(r)
	switch {
	case !there:
		l.Reason = r.whyNull(m)
		return l
	case math.IsNaN(v) || math.IsInf(v, 0):
		l.Reason = fmt.Sprintf("it came out as %v", v)
		return l
	}
	l.Value = &v
	for _, doubt := range doubts {
		if l.Reason = doubt(r, m, v); l.Reason != "" {
			return l
		}
	}
	holds, ok := compare(v, t.Op, t.Limit)
	switch {
	case !ok:
		l.Reason = fmt.Sprintf("there is no comparison %q", t.Op)
	case holds:
		l.Verdict = check.Pass
	default:
		l.Verdict, l.Reason = check.Fail, "it came to "+l.Shown()
	}
	return l
}

// whyNull says why a number is null.
func (r *Result) whyNull(m Metric) string {
	n, counted := m.samples(r)
	switch {
	case r.Window.FromNs == nil:
		return "the run never reached its measured window"
	case counted && n > 0:
		return "too few samples for it: " + grouped(n)
	case counted:
		return "there are no samples of it"
	}
	return "it was not measured"
}

// compare reports whether v op limit holds; ok is false if there is no such op.
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

// overall is the run's verdict, of its checks and thresholds. A violation was seen
// whatever else is unknown; that a threshold was missed says little of a run of which
// something is unknown. The exit codes have the same order.
func overall(checks check.Result, thresholds []ThresholdLine) check.Result {
	if checks != check.Pass {
		return checks
	}
	worst := check.Pass
	for _, t := range thresholds {
		switch t.Verdict {
		case check.Pass:
		case check.Fail:
			worst = check.Fail
		default:
			return check.Unknown
		}
	}
	return worst
}
