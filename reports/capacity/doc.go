// Package capacity says how much load a lock can carry, by models and by searching.
//
// In flow: for how long an acquisition occupies a lock, or the throughput measured at several loads. Out flow: the
// throughput and the waits at other loads:
//
//   - [Lock] models one lock as a queue with one server and a semaphore as one with several. Readers of a read/write
//     lock are served together, and several locks share the clients. Closed loops are solved by mean value analysis,
//     open ones by Pollaczek-Khinchine and Allen-Cunneen.
//   - [USL] models many locks whose limit is the ensemble, by the Universal Scalability Law fitted to measured
//     throughput.
//   - [Search] finds the most load that holds, by RFC 9971: a pure function from the trials so far to the next trial,
//     or to the answer with its interval.
//
// Nothing here knows about runs or looks at a clock. Rates are per second, times are in seconds, and the caller of a
// search carries out its probes. No model answers for more than [Reach] times the load that was measured.
package capacity
