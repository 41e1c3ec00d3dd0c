// Package capacity finds how much load a lock can carry, by searching.
//
// In flow: the trials of a search so far. Out flow: the next trial, or the answer with its interval. [Search] follows
// RFC 9971 and is a pure function. Nothing here knows about runs or looks at a clock. Rates are per second, times are
// in seconds, and the caller carries out the trials.
package capacity
