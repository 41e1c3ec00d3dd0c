// Package capacity says how much a lock can carry: by models, and by searching.
//
// In flow how long a lock is taken by one acquisition, or what was measured at several
// loads; out flow what other loads come to:
//
//   - [Lock]: one lock is a queue with one server, a semaphore one with several, the readers
//     of a read/write lock are served together, and several locks share the clients. Closed
//     loops by mean value analysis, open ones by Pollaczek-Khinchine and Allen-Cunneen;
//   - [USL]: many locks, where the ensemble is the limit, by the Universal Scalability Law,
//     fitted to measured throughput;
//   - [Search]: the highest rate that holds, by doubling and bisection.
//
// Nothing here knows of runs or looks at a clock: rates are per second, times in seconds, and a
// search is told what its probes came to. No model answers for more than [Reach] times the load that was
// measured.
package capacity
