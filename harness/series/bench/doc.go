// Package bench makes the samples by which two versions of a lock are compared, or which make up a baseline. It does
// run after run on one lab, each with lock paths of its own.
//
// In flow: a [Config]. Out flow: a directory.
//
//	base/001 …   a run directory for each sample
//	head/001 …   likewise, if there are two sides
//	base.txt     the samples of a side in the Go benchmark format, for benchstat
//	head.txt
//	bench.json   what the sides differ in on purpose, that they took turns, and when they were compared so far
//	warmup/      runs that do not count
//	unfinished/  the run that was interrupted, if one was
//
// Package compare reads base/ and head/. One run is one sample. Two sides take turns in pairs whose order is drawn at
// random, so that a drift of the machine affects both. Within a budget they are compared meanwhile, and the benchmark
// ends when the answer is clear.
package bench
