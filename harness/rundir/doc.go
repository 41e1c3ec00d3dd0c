// Package rundir is the only reader and writer of a run directory. It knows the names of its files, how one is made
// and opened, and the types of what is in it.
//
// In flow: while a run lasts, the resolved scenario and schedule, the environment, and the bytes that hosts send;
// afterwards, what the run came to. Out flow: the raw files again, as events, environment, schedule and the evidence of
// the servers, for packages that judge or draw the run, at once or years later.
//
// [Format] is the version of the directory and says what a whole record is. [Read] compares the record with what the
// run's own files say about it, and gives each thing that is missing as a reason ([Run].Incomplete), not as an error.
package rundir
