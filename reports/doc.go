// Package reports is the folder of everything that turns judged runs into numbers, pictures and pages.
//
// In flow: a run as package rundir reads it, and the verdicts of harness/check. Out flow: numbers that scripts read and
// pages that people read. The stages, in the order in which data passes through them:
//
//   - measure takes times and counts from a run's record.
//   - result reduces a run to its numbers, and has the one catalogue of the quantities among them.
//   - timeline draws who held a lock when.
//   - runpage draws the pictures of one run and writes the page around them.
//   - index writes the page that leads to many runs, and serve shows runs in a browser.
//   - export writes a run in formats that other programs read, of which junit has the one for results of tests.
//
// From many runs, or from none:
//
//   - compare says whether the runs of one side are worse than those of another.
//   - capacity searches for the load that a lock can carry, and sweep reduces the runs of a grid.
//   - danger says how often a pause makes a lock unsafe, by the length of the pause.
//   - advice says which session timeout to choose, by the pauses of a process.
//   - figures makes the measured tables of the manuals from the records in measurements.
//   - gatecurve says how often the gate of compare is right.
//
// What the others use:
//
//   - words writes numbers as people read them, doc has their tables and longer texts, and chart the style of pictures.
//   - internal has the runs and the browser that tests of reports use.
//
// Only serve looks at what still changes, at run directories. The same runs give the same bytes everywhere else, so an
// old run can be reported again.
package reports
