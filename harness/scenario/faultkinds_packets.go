package scenario

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// The kinds of faults that do harm to packets on their way.
const (
	FaultLoss      = "loss"      // network rules that draw, cleared to heal
	FaultBandwidth = "bandwidth" // network rules with a limit, cleared to heal
	FaultLatency   = "latency"   // delays, in the kernel or a relay, cleared to heal
	FaultReset     = "reset"     // of connections, which are made anew
)

func packetFaults() []FaultKind {
	return []FaultKind{
		{Name: FaultLoss, Family: FamilyPackets, Targets: OnServer | OnClient, Needs: []string{"from", "loss"},
			Does:     "a share of the packets between the target and the servers, the leader or the clients is lost at random, each way",
			Verified: "of 500 datagrams each way, up to 5000 where that share is small, as many are lost as it makes likely, to one in a million; after healing none is",
			check:    losesSome,
			draw:     func(r *rand.Rand, _ *Scenario, f *Fault) { drawFrom(f); f.Loss = float64(5+r.IntN(46)) / 100 }},
		{Name: FaultBandwidth, Family: FamilyPackets, Targets: OnServer | OnClient, Needs: []string{"from", "bandwidth"},
			Does:     "packets over a limit a second are dropped, each way; none is queued",
			Verified: "of more than that, sent each way, no more arrives; after healing all does",
			check:    leavesSome,
			draw:     func(r *rand.Rand, _ *Scenario, f *Fault) { drawFrom(f); f.Bandwidth = Size(16+r.IntN(241)) * KiB }},
		{Name: FaultLatency, Family: FamilyPackets, Targets: OnServer | OnClient, Needs: []string{"from", "latency"}, May: []string{"jitter"},
			Does: "packets take longer, each way, give or take `jitter`. By netem where the kernel has it; links of clients otherwise by a relay in the client's host, " +
				"through which they go from the start (connections are then made at once, and what is said on them is late)",
			Verified: "a question to each server takes so much longer; after healing it does not",
			check:    delaysSome,
			draw:     drawLatency, CapabilityFor: delayedByKernel},
		{Name: FaultReset, Family: FamilyPackets, Targets: OnServer | OnClient, Needs: []string{"from"}, Momentary: true,
			Does:     "every TCP connection between the target and the servers, the leader or the clients is reset at both ends",
			Verified: "none of them is left; then there are new ones and the ensemble is whole",
			draw:     func(_ *rand.Rand, _ *Scenario, f *Fault) { drawFrom(f) },
			check:    hasLinks},
	}
}

// drawFrom has a server that may turn out to lead be cut off from the others: it has no link
// to itself.
func drawFrom(f *Fault) {
	if f.From == FromLeader && f.HitsServer() && f.Target != TargetFollower && f.Target != TargetFollowers {
		f.From = FromServers
	}
}

// CapabilityNetem is a kernel that holds packets back.
const CapabilityNetem = "netem"

// delayedByKernel says what it takes to delay packets between servers: only links of clients can go through relays.
func delayedByKernel(f Fault) string {
	if f.HitsServer() && f.From != FromClients {
		return CapabilityNetem
	}
	return ""
}

// drawLatency draws up to a session timeout. Servers are slow to clients only: that does
// not take netem.
func drawLatency(r *rand.Rand, s *Scenario, f *Fault) {
	drawFrom(f)
	if f.HitsServer() {
		f.From = FromClients
	}
	least, most := 10*time.Millisecond, min(s.Negotiated(), maxLatency*2/3)
	f.Latency = (least + time.Duration(r.Float64()*float64(most-least))).Round(time.Millisecond)
	f.Jitter = time.Duration(r.Float64() * float64(f.Latency) / 2).Round(time.Millisecond)
}

func losesSome(v *validator, f Fault, key func(string) string) {
	hasLinks(v, f, key)
	if f.Loss != 0 && f.Loss < minLoss {
		v.refuse(by(key("loss")), fmt.Sprintf("loss: %g, or more", minLoss), "a loss of %g of the packets cannot be told from none", f.Loss)
	}
}

// minLoss is the least share of losses that is seen for certain among those packets that there is the time to send.
const minLoss = 0.003

// maxBandwidth is the most that can be shown to be a limit here.
const maxBandwidth = 50 * MiB

// maxLatency is the most that a packet may be held back: the way to a server and back has to
// be measured within the time for verifying a fault.
const maxLatency = 4500 * time.Millisecond

func leavesSome(v *validator, f Fault, key func(string) string) {
	hasLinks(v, f, key)
	if f.Bandwidth > maxBandwidth {
		v.refuse(by(key("bandwidth")), "bandwidth: "+maxBandwidth.String()+", or less", "a bandwidth of %s cannot be told from none", f.Bandwidth)
	}
}

func delaysSome(v *validator, f Fault, key func(string) string) {
	hasLinks(v, f, key)
	switch {
	case f.Latency < 0 || f.Latency+max(f.Jitter, 0) > maxLatency:
		v.refuse(by(key("latency"), key("jitter")), "latency: 100ms", "a latency of %s and %s of jitter are not between 0 and %s together", formatDuration(f.Latency), formatDuration(f.Jitter), formatDuration(maxLatency))
	case f.Jitter < 0 || f.Jitter > f.Latency:
		v.refuse(by(key("jitter"), key("latency")), "jitter: "+formatDuration(max(f.Latency, 0))+", or less", "packets cannot come %s early that are %s late", formatDuration(f.Jitter), formatDuration(f.Latency))
	}
}
