// Package judge turns the raw files of a run directory into its derived ones.
//
// In flow: a run directory with its scenario, environment and histories. Out flow: the verdicts of the checks, the
// result and the report, which are written into the same directory, and an [Outcome] for the caller.
package judge
