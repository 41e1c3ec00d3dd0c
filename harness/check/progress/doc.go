// Package progress judges whether a lock that is free and wanted is granted in time, and whether servers that are up
// serve.
//
// In flow: the evidence of a run. Out flow: the verdicts of the checks of liveness and of the servers' liveness.
package progress
