// Package compare says whether one set of runs is worse than another: whether a
// change may be merged.
//
// In flow run directories of a base and of a head; out flows a [Report]:
//
//  1. [Load] reads a side: a run directory, or a folder of them. What is no
//     run, or not all of one, is an error that wraps [ErrInput].
//  2. [Compare] refuses sides of different configurations, then takes each run as
//     one sample: the operations of a run depend on each other, and as samples
//     they would make a difference of noise.
//  3. Each metric gets both medians, the ratio with its confidence interval and
//     the p of the Mann-Whitney test, or, of ten or more pairs of runs that were made
//     in turn, of the signed-rank test, to which a drift of the machine is nothing. It has regressed if it is worse, and
//     significantly so (after Holm, over all metrics that gate), and by more than a
//     floor. It passes only if the interval rules out a loss that matters;
//     otherwise it is inconclusive: too little was measured.
//  4. What a violation, a run without a verdict or a noisy machine makes of the
//     whole comes before the metrics.
//  5. [Formats] has the writers of a report: for a person, for a pull request, for
//     scripts, and for what runs them.
//
// [SelfTest] shows on recorded runs that the gate can go red, and does not of itself.
//
// The statistics follow golang.org/x/perf/benchmath, which makes no assumption about
// how the samples are distributed.
package compare
