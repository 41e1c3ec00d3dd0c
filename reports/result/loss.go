package result

import (
	"strings"

	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/reports/measure"
)

// A Loss is what RFC 9971 calls loss, of a threshold that bounds a percentile of the time to get the lock: an
// acquisition is lost if it took longer than the bound, failed, was dropped, or had not ended when the run was over.
// The percentile is within the bound if the share that is lost is at most the goal loss ratio.
type Loss struct {
	Expr string `json:"expr"` // the threshold
	// Goal is the goal loss ratio: 0.01 of a p99.
	Goal float64 `json:"goal_loss_ratio"`
	// Due and Lost count, for each second of the window, the acquisitions that were due in it, and those of them that were
	// lost. The last second may be shorter.
	Due  []int64 `json:"due"`
	Lost []int64 `json:"lost"`
}

// goals are the goal loss ratios by the end of a threshold's name.
var goals = map[string]float64{".p50": 0.5, ".p90": 0.1, ".p99": 0.01, ".p999": 0.001, ".max": 0}

// GoalOf returns the goal loss ratio of a threshold, the share of acquisitions that it lets be late; -1 if it bounds
// something else than a percentile of the time to get the lock.
func GoalOf(t scenario.Threshold) float64 {
	name, is := strings.CutPrefix(t.Metric, measure.PhaseAcquire)
	if goal, known := goals[name]; is && known && strings.HasPrefix(t.Op, "<") {
		return goal
	}
	return -1
}

// lossOf returns the loss of a threshold; false if it bounds something else than a percentile of the time to get the
// lock.
func lossOf(t scenario.Threshold, events *history.Log, acq []history.Acquisition, w measure.Interval) (Loss, bool) {
	goal := GoalOf(t)
	if goal < 0 || w.Seconds() <= 0 {
		return Loss{}, false
	}
	const second = int64(1e9)
	n := (w.Until - w.From + second - 1) / second
	l := Loss{Expr: t.String(), Goal: goal, Due: make([]int64, n), Lost: make([]int64, n)}
	count := func(at int64, lost bool) {
		i := (at - w.From) / second
		l.Due[i]++
		if lost {
			l.Lost[i]++
		}
	}
	for i := range acq {
		if a := &acq[i]; w.Contains(a.Asked()) {
			in, _ := compare(float64(a.Latency()), t.Op, t.Limit)
			count(a.Asked(), !a.Granted() || !in)
		}
	}
	for _, e := range events.Of(history.OpDropped) {
		if w.Contains(e.At) {
			count(e.At, true)
		}
	}
	return l, true
}

// Ratio returns the share that was lost of the acquisitions that were due from one second of the window to before
// another, and how many were due.
func (l *Loss) Ratio(from, to int) (ratio float64, due int64) {
	var lost int64
	for i := max(from, 0); i < min(to, len(l.Due)); i++ {
		due += l.Due[i]
		lost += l.Lost[i]
	}
	if due == 0 {
		return 0, 0
	}
	return float64(lost) / float64(due), due
}
