package scenario

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness/check"
	"locklab/harness/settings"
	"locklab/workloads"
)

// thresholds checks that the thresholds can be met together, and together with the counters that are to be shown.
func (v *validator) thresholds() {
	if len(v.Thresholds) > maxThresholds {
		v.refuse(by(thresholdsKey), fmt.Sprintf("at most %d", maxThresholds), "%s",
			tooMany(len(v.Thresholds), thresholdsKey))
		return
	}
	for i, t := range v.Thresholds {
		at := by(thresholdKey(i), thresholdsKey)
		if reread, err := ParseThreshold(t.String()); err != nil || reread != t { // it was made by code
			v.refuse(at, thresholdHint, "%s is not a threshold", settings.Quote(t.String()))
			continue
		}
		if n, shown := v.Shown[t.Metric]; shown && t.excludes(Threshold{Op: ">=", Limit: float64(n)}) {
			v.refuse(at, "drop one of the two", "%s cannot be met where at least %d must be shown", t, n)
		}
		for j, o := range v.Thresholds[:i] {
			switch {
			case o.Metric != t.Metric:
			case o.Op == t.Op && t.Op != "!=":
				v.refuse(by(thresholdKey(i), thresholdKey(j)), "one of the two", "two limits of one kind: %s and %s", t, o)
			case o.excludes(t):
				v.refuse(by(thresholdKey(i), thresholdKey(j)), "drop one of the two", "%s and %s cannot both be met", o, t)
			}
		}
		if of := metricsOfWorkload[t.Metric]; of != "" && of != v.Workload {
			v.refuse(by(thresholdKey(i), "workload"), "workload: "+of+", or drop it",
				"%s belongs to workload %s, not to %s", t.Metric, of, v.Workload)
		}
		v.measurable(i, t)
	}
}

// measurable refuses a threshold on a number that this run will not have, so that the user does not learn it after the
// run.
func (v *validator) measurable(i int, t Threshold) {
	first, _, _ := strings.Cut(t.Metric, ".")
	at := thresholdKey(i)
	switch {
	case slices.Contains(metricsOfOpenLoop, first) && !v.Open():
		v.refuse(by(at, "arrivals"), "arrivals: poisson, or drop it",
			"%s belongs to an open loop, and arrivals are closed", t.Metric)
	case countedBy(t.Metric) == check.Effect && v.Section == SectionNone:
		v.refuse(by(at, "section"), "section: counter, or drop it",
			"section none leaves the resource alone, so there are no %s", t.Metric)
	case first == "acquire_read" && v.Workload != workloads.ReadWrite:
		v.refuse(by(at, "workload"), "workload: read-write, or drop it",
			"%s belongs to workload read-write, not to %s", t.Metric, v.Workload)
	case v.cutOff(t):
		v.refuse(by(at, "wait"), "a limit below wait, or operations.timed_out == 0",
			"%s cannot be missed, because acquisitions are given up after %s and only granted ones have a latency",
			t, settings.FormatDuration(v.Wait))
	}
}

// cutOff reports whether the threshold is an upper limit on a latency that wait keeps below it anyway. In an open loop
// acquire begins before the client asks, so wait does not bound it.
func (v *validator) cutOff(t Threshold) bool {
	phase, _, _ := strings.Cut(t.Metric, ".")
	within := slices.Contains(latenciesWithinWait, phase) || !v.Open() && slices.Contains(latenciesOfAcquire, phase)
	return within && v.Wait > 0 && t.Duration && (t.Op == "<" || t.Op == "<=") && t.Limit >= float64(v.Wait)
}

// Numbers that only some runs have, by their name or its first part.
var (
	metricsOfOpenLoop = []string{"arrival", "service", "offered_per_s", "dropped", "dropped_per_s", "backlog_max",
		"backlog_end"}
	latenciesWithinWait = []string{"service", "enqueue", "wait"}
	latenciesOfAcquire  = []string{"acquire", "acquire_read", "acquire_write"}
)

// metricsOfWorkload has the workload of each counter that only one workload has.
var metricsOfWorkload = map[string]string{
	check.CountTornReads: workloads.ReadWrite,
	check.CountCrowded:   workloads.Semaphore,
}

// A Metric is a number that a result has, as thresholds name it.
type Metric struct {
	Name     string
	Duration bool // its limits are durations
	Share    bool // it is from 0 to 1
}

// CheckMetrics refuses thresholds on numbers that no result has, or whose limit is of another kind than the number. The
// error joins an [*InputError] for each.
func (s *Scenario) CheckMetrics(known []Metric) error {
	var names []string
	for _, m := range known {
		names = append(names, m.Name)
	}
	v := &validator{Scenario: s}
	for i, t := range s.Thresholds {
		at := by(thresholdKey(i), thresholdsKey)
		n := slices.Index(names, t.Metric)
		switch {
		case n < 0:
			v.refuse(at, likelyMetric(t.Metric, names), "no result has a number %s", settings.Quote(t.Metric))
		case known[n].Duration && !t.Duration:
			v.refuse(at, "with a unit, such as "+t.Metric+" "+t.Op+" 50ms",
				"%s is a duration, and the limit of %s is not", t.Metric, settings.Quote(t.String()))
		case !known[n].Duration && t.Duration:
			v.refuse(at, "without a unit",
				"%s is a plain number, and the limit of %s is a duration", t.Metric, settings.Quote(t.String()))
		case known[n].Share && !t.interval().meets(share):
			v.refuse(at, "a limit below 1", "%s can never hold: %s is from 0 to 1", settings.Quote(t.String()), t.Metric)
		case known[n].Share && t.holdsForShares():
			v.refuse(at, "a limit below 1", "%s always holds: %s is from 0 to 1", settings.Quote(t.String()), t.Metric)
		}
	}
	return join(v.errs)
}

// share is the interval of numbers that are shares.
var share = interval{hi: 1}

// holdsForShares reports whether every share meets the threshold.
func (t Threshold) holdsForShares() bool {
	switch t.Op {
	case "<", "!=":
		return t.Limit > 1
	case "<=":
		return t.Limit >= 1
	}
	return false // the limit is not negative, so only > and >= 0 would, which ParseThreshold refuses
}

// likelyMetric suggests metrics whose names resemble an unknown one, or of which it is a part.
func likelyMetric(name string, known []string) string {
	if near := settings.NearestPath(name, known); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	return "a path in result.json, or its short form, such as acquire.p99, acquired_per_s, overlaps"
}
