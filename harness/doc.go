// Package harness is the folder of everything that turns a scenario into verdicts; its sub-packages do the work.
//
// In flow: a scenario and a place to write. Out flow: a run directory and the verdicts, numbers and pictures that are
// derived from it. The stages, in the order in which data passes through them:
//
//   - scenario reads and validates what is to be done.
//   - run makes a lab, lets clients work in it while faults strike, and leaves the raw files of a run directory.
//   - incluster lets a run be carried out by a harness that is a pod of the cluster.
//   - simulate runs locks on a simulated ensemble, in virtual time.
//   - watch knows, while a run lasts, who holds, waits and is connected.
//   - history is what every process recorded, and rundir the directory that keeps it.
//   - hiccups measures how long a process is held up by anything except what is being measured.
//   - check judges a history; judge puts verdicts, numbers and the report into the run directory.
//   - secondopinion asks Porcupine the same questions as check.
//   - series carries out many runs on labs that they share: demonstrations, comparisons and sweeps.
//
// Beside runs:
//
//   - inspect tells who holds the locks of a live ensemble and who waits for them.
//   - doctor finds out what this machine can do.
//   - gate writes what a repository needs to gate its pull requests on the latency of its lock.
//   - benchpeers is a program that compares the speed of our locks with that of others.
//
// What the others use:
//
//   - cmd has the program locklab, and inlab the commands that run inside a lab.
//   - commandline parses a command line, and console is what a command reads from and writes to.
//   - settings reads and writes the fields of a struct as text.
//   - records keeps measurements in files to which a later run of a program appends.
//   - untrusted handles files and names that somebody else may have made.
//   - fail gives errors a class, from which the exit code follows.
package harness
