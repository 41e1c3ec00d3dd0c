// Package incluster carries out a run by a harness that is itself a pod of the cluster.
//
// In flow: a scenario for a lab of kind kubernetes. Out flow: the run directory, as if the run had been made from here.
//
// The harness in the cluster is the one host of a lab of its own, and a process under an agent like any other. So it
// ends when the lease of this process lapses, and then its lab ends too. It reaches the hosts of that lab at their own
// addresses, and needs no port-forward, which would take longer and go through the API server. Only the control of the
// harness itself does.
package incluster
