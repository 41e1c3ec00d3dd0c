package harness

import (
	"locklab/harness/scenario"
	"locklab/reports"
)

// Validate refuses what [scenario.Scenario.Validate] does, and thresholds on numbers
// that no result has. The error joins a [*scenario.InputError] for each.
func Validate(sc *scenario.Scenario) error {
	if err := sc.Validate(); err != nil {
		return err
	}
	return sc.CheckMetrics(Metrics())
}

// Metrics returns the numbers that thresholds can be set on.
func Metrics() []scenario.Metric {
	var all []scenario.Metric
	for _, m := range reports.Metrics() {
		all = append(all, scenario.Metric{Name: m.Name, Duration: m.Duration, Share: m.Share})
	}
	return all
}

// thresholdsOf returns the scenario's thresholds as reports judge them.
func thresholdsOf(sc *scenario.Scenario) []reports.Threshold {
	var all []reports.Threshold
	for _, t := range sc.Thresholds {
		all = append(all, reports.Threshold{Expr: t.String(), Metric: t.Metric, Op: t.Op, Limit: t.Limit})
	}
	return all
}
