// Package bench makes the samples by which two versions of a lock are compared, or of which
// a baseline consists: run after run on one lab, each on lock paths of its own.
//
// In flows a [Plan], out flows a directory:
//
//	base/001 …   a run directory a sample
//	head/001 …   likewise, if there are two sides
//	base.txt     the samples of a side in the Go benchmark format, for benchstat
//	head.txt
//	bench.json   what the sides were made to differ in, and that they took turns
//	warmup/      runs that do not count
//	unfinished/  the run that was interrupted, if one was
//
// Package compare reads base/ and head/. One run is one sample; two sides take turns in pairs whose
// order is drawn, so that a drift of the machine falls on both.
package bench
