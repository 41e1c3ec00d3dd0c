// Package gate writes what a repository needs to gate its pull requests on the latency of its own lock: a workflow for
// GitHub, and the scenario that it measures.
//
// In flow: a [Config]. Out flow: two files in the repository, which need nothing else of this project but one binary,
// pinned by its digest.
package gate
