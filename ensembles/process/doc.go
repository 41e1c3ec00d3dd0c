// Package process makes labs of child processes on the loopback network of this machine.
//
// In flow: the hosts of a lab and, if its servers run elsewhere, the way to their ensemble. Out flow: an
// [ensembles.Place] whose hosts are agents. The agent of a server's host runs the Java and the ZooKeeper of this
// machine. If the servers run elsewhere it runs no process: it speaks for one of them, and passes connections of the
// lab's clients on to it.
//
// Each host has an address of its own in 127.0.0.0/8 but shares the network of this machine, so its agent changes no
// network rule. The agents end with the pipe from the harness: whatever ends the harness, they kill their processes and
// remove their data.
package process
