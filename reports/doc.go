// Package reports turns a finished run into numbers, pictures and one page.
//
// In flow the merged history, the acquisitions put together from it, the
// verdicts of harness/check and a [Meta] that says what the run directory knows
// besides. Then:
//
//  1. [Summarize] reduces them to a [Result], which is result.json: the one set
//     of numbers that scripts, thresholds, comparisons and the page all read.
//  2. [Headline] says in one sentence what happened, for a reader who has no
//     other.
//  3. [WriteHlog] writes the latencies in HdrHistogram's log format, [WriteBench]
//     the numbers in the Go benchmark format.
//  4. [Render] draws the pictures and writes report.html around them.
//
// A sweep is many runs: [SummarizeSweep] reduces their results to a [Sweep], which is sweep.json, with
// what the models of package capacity say of each point; [RenderSweep] draws it, [PrintSweep] writes
// its table, and [Sweep.Answer] says what another load would come to.
//
// Nothing here looks at a live system or at a clock: the same input gives the
// same bytes, so an old run can be reported again.
//
// Three rules hold everywhere. Absent data is null in files and "n/a" on paper,
// never 0. A percentile is given only where the sample supports it. Only
// operations invoked in the measured window count, and those that were still
// waiting at its end are counted as censored: leaving them out would hide the
// longest waits.
package reports
