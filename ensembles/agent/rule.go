package agent

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// ErrUnsupported answers a request for harm that this kernel cannot do. What wraps
// it names the capability that is missing.
var ErrUnsupported = errors.New("not supported here")

// A Direction says which packets a rule meets, seen from the host.
type Direction string

// The directions. The zero value is Both.
const (
	Both Direction = ""
	In   Direction = "in"
	Out  Direction = "out"
)

// A Verdict says what becomes of the packets that a rule meets.
type Verdict string

// The verdicts. The zero value is Drop.
const (
	// Drop lets them vanish, as a broken link does.
	Drop Verdict = ""
	// Reject answers TCP with a reset, as a firewall or a host without the service
	// does; what is not TCP it drops.
	Reject Verdict = "reject"
)

// Block is a rule for the packets between this host and its peers: by default,
// none passes. Blocks in force at once add up: a packet that any of them meets is
// lost.
type Block struct {
	// ID names the rule, so that healing one fault keeps the others' rules.
	ID        string       `json:"id"`
	Peers     []netip.Addr `json:"peers"`
	Direction Direction    `json:"direction,omitempty"`
	Verdict   Verdict      `json:"verdict,omitempty"`
	// Ports, if any, narrows the rule to TCP packets of these ports of this host.
	Ports []uint16 `json:"ports,omitempty"`
	// Payload narrows the rule to TCP packets that end what a process has written
	// (PSH): connections are made and acknowledged, and nothing is said on them.
	Payload bool `json:"payload,omitempty"`
	// Loss, in percent, meets that share of the packets only, drawn by the kernel
	// for each; 0 stands for all.
	Loss float64 `json:"loss,omitempty"`
	// Bandwidth, in bytes a second, meets only the packets over it, each direction
	// and all peers together; 0 stands for all packets. It is a policer: it drops and
	// never queues, so a long TCP transfer gets less than that, and after a second of
	// silence a second's worth passes at once.
	Bandwidth uint64 `json:"bandwidth,omitempty"`
}

// Delay holds back what passes between this host and its peers. Delays in force at
// once add up.
type Delay struct {
	ID    string       `json:"id"`
	Peers []netip.Addr `json:"peers"`
	// Latency is added to each way that the host can hold back: both ways by relays,
	// what it sends by netem.
	Latency time.Duration `json:"latency"`
	// Jitter is how much a delay differs from Latency at most, either way.
	Jitter time.Duration `json:"jitter,omitempty"`
}

// lossUnit is the finest share of packets that can be lost, in percent.
const lossUnit = 0.01

func (b Block) validate() error {
	switch {
	case b.ID == "" || len(b.Peers) == 0:
		return errors.New("block: id and peers are required")
	case b.Direction != Both && b.Direction != In && b.Direction != Out:
		return fmt.Errorf("block: unknown direction %q", b.Direction)
	case b.Verdict != Drop && b.Verdict != Reject:
		return fmt.Errorf("block: unknown verdict %q", b.Verdict)
	case b.Loss != 0 && !(b.Loss >= lossUnit && b.Loss <= 100):
		return fmt.Errorf("block: loss of %v%%, want %v to 100", b.Loss, lossUnit)
	case b.Bandwidth > maxBandwidth:
		return fmt.Errorf("block: bandwidth of %d bytes/s, want at most %d", b.Bandwidth, uint64(maxBandwidth))
	}
	return validPeers("block", b.Peers)
}

// maxBandwidth is more than the links of a lab carry.
const maxBandwidth = 10 << 30

// burst is what may pass at once after a time of silence beyond a second's worth,
// which the kernel always allows: enough for two full packets altogether.
func (b Block) burst() uint32 { return uint32(max(2*1500, b.Bandwidth) - b.Bandwidth) }

func (d Delay) validate() error {
	switch {
	case d.ID == "" || len(d.Peers) == 0:
		return errors.New("delay: id and peers are required")
	case d.Latency <= 0 || d.Latency > maxLatency:
		return fmt.Errorf("delay: latency %v, want more than 0 and at most %v", d.Latency, maxLatency)
	case d.Jitter < 0 || d.Jitter > d.Latency:
		return fmt.Errorf("delay: jitter %v, want at most the latency of %v", d.Jitter, d.Latency)
	}
	return validPeers("delay", d.Peers)
}

// maxLatency is far more than any session lasts.
const maxLatency = 5 * time.Minute

func validPeers(what string, peers []netip.Addr) error {
	for _, p := range peers {
		if !p.Is4() {
			return fmt.Errorf("%s: %v is no IPv4 address", what, p)
		}
	}
	return nil
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
