// Package result reduces a run to its numbers.
//
// In flow: a run as package rundir reads it, and the verdicts of harness/check. Out flow: a [Result], which is
// result.json, the one set of numbers that scripts, thresholds, comparisons and pages all read; its [Headline]; the
// latencies in HdrHistogram's log format and the numbers in the Go benchmark format.
//
// Three rules hold everywhere. Absent data is null in files and "n/a" on paper, never 0. A percentile is given only
// where the sample supports it. Only operations invoked in the measured window count, and those that were still
// waiting at its end are counted as censored, because leaving them out would hide the longest waits.
package result
