// Package synth makes runs for tests of the reports.
//
// In flow: times and clients, as a test writes them. Out flow: runs as package rundir would have read them.
package synth
