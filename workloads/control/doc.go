// Package control has what a harness tells the processes of a run: what a client process and a resource are started
// with, and the commands on a client process's standard input.
//
// In flow: the values that a harness takes from its scenario. Out flow: JSON, and lines of text. The processes
// themselves are packages client and resource, which a harness need not link.
package control
