package measure

import (
	"fmt"
	"maps"
	"slices"

	"locklab/harness/history"
	"locklab/reports/words"
)

// Slowed says of each process how long its clients waited in the measured window because its record could not be
// collected as fast as it grew.
func Slowed(events *history.Log, w Interval) []string {
	waited := map[string]int64{}
	for _, e := range events.Of(history.OpSlowed) {
		if d := min(e.At, w.To) - max(e.At-int64(e.Slowed()), w.From); d > 0 {
			waited[e.Process] += d
		}
	}
	var warnings []string
	for _, process := range slices.Sorted(maps.Keys(waited)) {
		warnings = append(warnings, fmt.Sprintf("clients of %s were kept waiting for %s of the measured %s, because their "+
			"record grew faster than it could be collected: the throughput is that of the recording, not of the lock",
			process, words.Duration(waited[process]), words.Duration(w.To-w.From)))
	}
	return warnings
}
