// Package reports is the folder of everything that turns judged runs into numbers, pictures and pages.
//
// In flow: a run as package rundir reads it, and the verdicts of harness/check. Out flow: numbers that scripts read and
// pages that people read. The stages, in the order in which data passes through them:
//
//   - result reduces a run to its numbers, and has the one catalogue of the quantities among them.
//   - words writes numbers as people read them, and chart has the style of all pictures.
//   - runpage draws the pictures of one run and writes the page around them.
//   - capacity has the models of a lock's throughput; sweep fits them to many runs and draws the result.
//   - advice weighs session timeouts by the pauses of a process.
//   - compare says whether the runs of one side are worse than those of another.
//
// Nothing here looks at a live system or at a clock: the same input gives the same bytes, so an old run can be reported
// again.
package reports
