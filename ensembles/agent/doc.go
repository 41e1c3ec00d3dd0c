// Package agent is the protocol between the harness and the agents of a lab's hosts, and the harness's client for it.
//
// In flow: requests from the harness, such as a process to start, a network rule to add or a history to read. Out flow:
// HTTP requests that carry the host's secret, and replies stamped with the CLOCK_MONOTONIC at which the agent acted.
// The client gives these times on the harness's own clock; see [Client.ReadClock].
//
// The process on the host that answers these requests is in package agent/serve.
package agent
