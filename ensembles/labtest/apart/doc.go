// Package apart gives tests a real ensemble that a process of its own keeps, so that they import nothing that a lab
// needs. The tests of a library are among what go mod tidy fetches for its users.
//
// In flow: a test that needs servers. Out flow: their addresses, and a way to pause, cut off and resume them. The
// process is the command keeper, below this folder.
package apart
