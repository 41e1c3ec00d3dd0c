// Package series carries out many runs on labs that they share: demonstrations and sweeps.
//
// In flow: scenarios, or a grid of them. Out flow: a run directory for each, and a directory that ties them together,
// from which a series that was interrupted is resumed.
package series
