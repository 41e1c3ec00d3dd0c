package agent

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// A Direction says which packets a rule applies to, seen from the host.
type Direction string

// The directions. The zero value is Both.
const (
	Both Direction = ""
	In   Direction = "in"
	Out  Direction = "out"
)

// A Verdict says what happens to the packets that a rule applies to.
type Verdict string

// The verdicts. The zero value is Drop.
const (
	// Drop discards them, as a broken link does.
	Drop Verdict = ""
	// Reject answers TCP packets with a reset, as a firewall or a host without the service does. It drops all others.
	Reject Verdict = "reject"
)

// Block is a rule for the packets between this host and its peers. By default, none passes. Blocks that are in force at
// the same time add up: a packet is lost if any of them applies to it.
type Block struct {
	// ID names the rule, so that healing one fault keeps the rules of others.
	ID        string       `json:"id"`
	Peers     []netip.Addr `json:"peers"`
	Direction Direction    `json:"direction,omitempty"`
	Verdict   Verdict      `json:"verdict,omitempty"`
	// Ports, if any, limits the rule to TCP packets from and to these ports of this host.
	Ports []uint16 `json:"ports,omitempty"`
	// Payload limits the rule to TCP packets that end what a process has written (PSH): connections are made and
	// acknowledged, but carry no data.
	Payload bool `json:"payload,omitempty"`
	// Loss limits the rule to that share of the packets, in percent, which the kernel chooses at random; 0 means all.
	Loss float64 `json:"loss,omitempty"`
	// Bandwidth limits the rule to the packets that exceed it, in bytes per second for each direction and all peers
	// together; 0 means all packets. It is a policer, which drops and never queues. So a long TCP transfer gets less than
	// that, and after a second of silence a second's worth passes at once.
	Bandwidth uint64 `json:"bandwidth,omitempty"`
}

// Delay holds back packets between this host and its peers. Delays that are in force at the same time add up.
type Delay struct {
	ID    string       `json:"id"`
	Peers []netip.Addr `json:"peers"`
	// Latency is added in each direction that the host can delay: both with a relay, only what it sends with netem.
	Latency time.Duration `json:"latency"`
	// Jitter is how far a delay may differ from Latency, up or down.
	Jitter time.Duration `json:"jitter,omitempty"`
}

// String describes the rule for the host's history.
func (b Block) String() string {
	var s strings.Builder
	if b.Verdict == Reject {
		s.WriteString("reject ")
	}
	switch {
	case b.Loss != 0:
		fmt.Fprintf(&s, "%g%% ", b.Loss)
	case b.Bandwidth != 0:
		fmt.Fprintf(&s, "over %d B/s ", b.Bandwidth)
	}
	if b.Payload {
		s.WriteString("payload ")
	}
	if len(b.Ports) > 0 {
		fmt.Fprintf(&s, "ports %v ", b.Ports)
	}
	if b.Direction != Both {
		s.WriteString(string(b.Direction) + " ")
	}
	fmt.Fprint(&s, b.Peers)
	return s.String()
}

// An InForce is a network block or a delay that is in force on a host.
type InForce struct {
	ID string `json:"id"`
	// Peers are the hosts whose packets it applies to, and Direction says which of the packets, seen from the host.
	Peers     []netip.Addr `json:"peers"`
	Direction Direction    `json:"direction,omitempty"`
	// Connections says that it applies to TCP packets only.
	Connections bool `json:"connections,omitempty"`
}
