// Package compare says whether one set of runs is worse than another, and so whether a change may be merged.
//
// In flow: run directories of a base and of a head. Out flow: a [Report].
//
//  1. [Load] reads a side, which is a run directory or a folder of them. If something is not a complete run, the error
//     wraps [ErrInput].
//  2. [Compare] refuses sides of different configurations. Each run is one sample, because the operations of a run
//     depend on each other, and noise would look like a difference if they were samples.
//  3. Each metric gets both medians, the ratio with its confidence interval, and a p value. The p is that of the
//     Mann-Whitney test or, with ten or more pairs of runs that were made in turn, of the signed-rank test, which is
//     not affected when the machine drifts. A metric has regressed if the whole interval of its loss is beyond what is
//     tolerated (significantly, after Holm, over all metrics that gate). It passes if the whole interval is within.
//     Otherwise it is inconclusive, because too little was measured.
//  4. A violation, a run without a verdict and a noisy machine decide the verdict before the metrics do.
//  5. [Render] writes a report for a person, for a pull request, for scripts, or for CI systems.
//
// A test shows on recorded runs that the gate can fail, and that it does not fail without a reason.
//
// The statistics follow golang.org/x/perf/benchmath, which makes no assumption about how the samples are distributed.
package compare
