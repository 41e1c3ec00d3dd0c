package compare

import (
	"fmt"
	"slices"
	"strings"

	"locklab/reports"
)

// A Metric is a number of a run, with what a change of it means.
type Metric struct {
	reports.Quantity
	// HigherIsBetter is the direction.
	HigherIsBetter bool
	// Gates says that the verdict depends on it. Metrics are many and depend on
	// each other; each one more costs the others power.
	Gates bool
	// Difference says that sides are compared by difference, not by ratio: a share
	// that is 0 where all is well has no ratio.
	Difference bool
	// Floor is the least loss that counts, relative to the base (or as a
	// difference), but not less than AbsFloor, which is in the metric's own unit.
	Floor, AbsFloor float64
	// Tolerated is the loss that a metric must rule out to pass, in the units of
	// Floor: the sensitivity that a pass promises.
	Tolerated float64

	_ struct{}
}

// The thresholds by what they are of. A median moves less from run to run than a
// tail does.
const (
	floorTypical     = 0.05
	toleratedTypical = 0.20
	floorTail        = 0.10
	toleratedTail    = 1.00
	floorShare       = 0.01
	toleratedShare   = 0.05
	floorDropped     = 1 // a second
	toleratedDropped = 5
	absFloorLatency  = 20e3 // ns: less is the clock's and the scheduler's
)

func typical(m Metric) Metric { m.Floor, m.Tolerated = floorTypical, toleratedTypical; return m }
func tail(m Metric) Metric    { m.Floor, m.Tolerated = floorTail, toleratedTail; return m }

// rules says of each quantity what a change of it means. One that is not named
// here is not compared, and a test wants each to be.
var rules = map[string]Metric{
	"throughput.acquired_per_s":        typical(Metric{HigherIsBetter: true, Gates: true}),
	"throughput.dropped_per_s":         {Difference: true, Floor: floorDropped, Tolerated: toleratedDropped}, // null in a closed loop
	"acquire_read.p50":                 typical(Metric{AbsFloor: absFloorLatency}),                           // parts of acquire, which gates
	"acquire_read.p90":                 tail(Metric{AbsFloor: absFloorLatency}),
	"acquire_read.p99":                 tail(Metric{AbsFloor: absFloorLatency}),
	"acquire_write.p50":                typical(Metric{AbsFloor: absFloorLatency}),
	"acquire_write.p90":                tail(Metric{AbsFloor: absFloorLatency}),
	"acquire_write.p99":                tail(Metric{AbsFloor: absFloorLatency}),
	"acquire.p50":                      typical(Metric{AbsFloor: absFloorLatency, Gates: true}),
	"acquire.p90":                      tail(Metric{AbsFloor: absFloorLatency}),
	"acquire.p99":                      tail(Metric{AbsFloor: absFloorLatency, Gates: true}),
	"handoff.p50":                      typical(Metric{AbsFloor: absFloorLatency, Gates: true}),
	"handoff.p90":                      tail(Metric{AbsFloor: absFloorLatency}),
	"handoff.p99":                      tail(Metric{AbsFloor: absFloorLatency}),
	"hold.p50":                         typical(Metric{AbsFloor: absFloorLatency}), // the workload's more than the lock's
	"hold.p90":                         tail(Metric{AbsFloor: absFloorLatency}),
	"hold.p99":                         tail(Metric{AbsFloor: absFloorLatency}),
	"release.p50":                      typical(Metric{AbsFloor: absFloorLatency}),
	"release.p90":                      tail(Metric{AbsFloor: absFloorLatency}),
	"release.p99":                      tail(Metric{AbsFloor: absFloorLatency}),
	"operations.not_acquired_share":    {Difference: true, Floor: floorShare, Tolerated: toleratedShare, Gates: true},
	"server.requests_per_acquire":      typical(Metric{AbsFloor: 0.1, Gates: true}),
	"server.watches_fired_per_release": typical(Metric{AbsFloor: 0.1}),
	"fairness.jain":                    typical(Metric{HigherIsBetter: true}),
}

// Metrics lists what is compared, in the order in which it is shown.
func Metrics() []Metric {
	var all []Metric
	for _, q := range reports.Quantities() {
		if m, ok := rules[q.Name]; ok {
			m.Quantity = q
			all = append(all, m)
		}
	}
	return all
}

// choose makes the named metrics the ones that gate; no name leaves them as they
// are.
func choose(all []Metric, names []string) ([]Metric, error) {
	for _, name := range names {
		if !slices.ContainsFunc(all, func(m Metric) bool { return m.Name == name }) {
			return nil, fmt.Errorf("%w: no metric %q; there are %s", ErrInput, name, metricNames(all))
		}
	}
	for i := range all {
		if len(names) > 0 {
			all[i].Gates = slices.Contains(names, all[i].Name)
		}
	}
	return all, nil
}

// CheckMetrics refuses names that are no metric's. The error wraps [ErrInput].
func CheckMetrics(names []string) error {
	_, err := choose(Metrics(), names)
	return err
}

func metricNames(all []Metric) string {
	names := make([]string, len(all))
	for i, m := range all {
		names[i] = m.Name
	}
	return strings.Join(names, ", ")
}
