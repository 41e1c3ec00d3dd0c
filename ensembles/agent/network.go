package agent

import (
	"net/netip"
	"time"
)

// Probe asks whether this host can open TCP connections.
type Probe struct {
	Addresses []netip.AddrPort `json:"addresses"`
	Timeout   time.Duration    `json:"timeout"`
	// Ask sends ruok on each connection and waits for the whole answer.
	Ask bool `json:"ask,omitempty"`
}

// ProbeResult is the answer to a Probe, in its order.
type ProbeResult struct {
	// Errors has "" for an address that was reached (and answered), and otherwise the reason.
	Errors []string `json:"errors"`
	// Took is how long each connection, or the answer on it, took.
	Took []time.Duration `json:"took"`
}

// Expectation is the id of datagrams that an agent counts. The agent chooses the id.
type Expectation struct {
	ID string `json:"id"`
}

// Datagrams asks the agent to send datagrams to another agent's host. Unlike a connection, they need only one direction
// of a link, so they can tell which direction is cut.
type Datagrams struct {
	// ID is the receiver's expectation.
	ID    string         `json:"id"`
	To    netip.AddrPort `json:"to"`
	Count int            `json:"count"`
	// Size of each in bytes; 0 means as small as possible.
	Size int `json:"size,omitempty"`
	// Every is the time from one to the next.
	Every time.Duration `json:"every,omitempty"`
}

// Heard says how many of the expected datagrams have arrived so far.
type Heard struct {
	Count int `json:"count"`
	// First and Last are when the first and the last datagram arrived; 0 if none has.
	First int64 `json:"first_ns"`
	Last  int64 `json:"last_ns"`
}

// RelayRequest asks for a relay on this host to a server, see [Delay].
type RelayRequest struct {
	To netip.AddrPort `json:"to"`
	// Seed is the seed of the relay's jitter.
	Seed uint64 `json:"seed"`
	// RoundTrip, if given, asks for a relay of its own: a request and its answer take at least that much longer on it, and
	// no delay acts on it.
	RoundTrip *time.Duration `json:"round_trip,omitempty"`
}

// RelayResult says where on this host a relay listens.
type RelayResult struct {
	Address netip.AddrPort `json:"address"`
}

// Connections lists this host's established TCP connections with some peers.
type Connections struct {
	Stamp
	// Open has "local remote" for each, sorted.
	Open []string `json:"open"`
}
