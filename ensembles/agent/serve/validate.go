package serve

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"locklab/ensembles/agent"
)

// lossUnit is the smallest share of packets that a block can lose, in percent.
const lossUnit = 0.01

func validateBlock(b agent.Block) error {
	switch {
	case b.ID == "" || len(b.Peers) == 0:
		return errors.New("block: id and peers are required")
	case b.Direction != agent.Both && b.Direction != agent.In && b.Direction != agent.Out:
		return fmt.Errorf("block: unknown direction %q", b.Direction)
	case b.Verdict != agent.Drop && b.Verdict != agent.Reject:
		return fmt.Errorf("block: unknown verdict %q", b.Verdict)
	case b.Loss != 0 && !(b.Loss >= lossUnit && b.Loss <= 100):
		return fmt.Errorf("block: loss of %v%%, want %v to 100", b.Loss, lossUnit)
	case b.Bandwidth > maxBandwidth:
		return fmt.Errorf("block: bandwidth of %d bytes/s, want at most %d", b.Bandwidth, uint64(maxBandwidth))
	}
	return validPeers("block", b.Peers)
}

// maxBandwidth, in bytes per second, exceeds what the links of a lab carry.
const maxBandwidth = 10 << 30

// burst is how many bytes may pass at once after a silence, beyond the second's worth that the kernel always allows.
// The sum is enough for two full packets.
func burst(b agent.Block) uint32 { return uint32(max(2*1500, b.Bandwidth) - b.Bandwidth) }

func validateDelay(d agent.Delay) error {
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

// maxLatency is far longer than any session timeout.
const maxLatency = 5 * time.Minute

func validPeers(what string, peers []netip.Addr) error {
	for _, p := range peers {
		if !p.Is4() {
			return fmt.Errorf("%s: %v is not an IPv4 address", what, p)
		}
	}
	return nil
}
