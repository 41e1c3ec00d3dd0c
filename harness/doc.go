// Package harness is the folder of everything that turns a scenario into verdicts; its sub-packages do the work.
//
// In flow: a scenario and a place to write. Out flow: a run directory and the verdicts, numbers and pictures that are
// derived from it. The stages, in the order in which data passes through them:
//
//   - scenario reads and validates what is to be done.
//   - run makes a lab, lets clients work in it while faults strike, and leaves the raw files of a run directory.
//   - watch knows, while a run lasts, who holds, waits and is connected.
//   - history is what every process recorded, and rundir the directory that keeps it.
//   - check judges a history; judge puts verdicts, numbers and the report into the run directory.
//   - series carries out many runs: demonstrations, comparisons and sweeps.
//   - doctor says what this machine can do.
package harness
