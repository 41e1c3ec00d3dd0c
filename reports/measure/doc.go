// Package measure takes times and counts from a run's record.
//
// In flow: acquisitions and events. Out flow: the measured window and spans of time, the durations of each phase and
// their percentiles, how fairly the lock was handed out, and how operations ended.
package measure
