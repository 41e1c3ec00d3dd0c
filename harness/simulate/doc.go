// Package simulate runs locks on a simulated ensemble, in virtual time, and judges each run by the checks of real ones.
//
// In flow: the name of a recipe and a seed, or a scenario. Out flow: a [Run] with the verdicts, the history, and what
// was reached; of a scenario, the raw files of a run directory. The locks and the client of ZooKeeper are the ones that
// users have; package zktest has the servers, and its package sim lets one host act at a time. Everything follows from
// the seed: how long sessions last, what clients do, which kinds of faults this seed has, when they strike, and how
// long each message takes. At the end all faults are healed, and every client must get the lock once more.
//
// In a scenario, clients do what it says, and the schedule of faults is that of package chaos, in virtual time.
//
// Half of the resets strike the client that has waited longest, and break its next connections too, each after a few
// frames. Meanwhile the client also asks the servers something else: a watch can be lost across two reconnects only by
// the answer to another request.
package simulate
