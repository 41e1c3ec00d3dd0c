package scenario

import (
	"math/rand/v2"
	"slices"
)

// FaultPartition is network rules, cleared to heal.
const FaultPartition = "partition"

// What the links of a fault lead to from its target.
const (
	// FromServers is the other servers for a server (clients still reach it), and all
	// servers for a client process (it still reaches the resource).
	FromServers = "servers"
	FromLeader  = "leader"  // the server that leads when the fault strikes
	FromClients = "clients" // all client processes
)

// The shapes of a partition: which links it cuts.
const (
	ShapeAlone  = "alone"  // those between the target and what it is cut off from
	ShapeHalves = "halves" // those between two halves of the servers, with the target in the smaller
	ShapeBridge = "bridge" // those between two halves of the other servers: only the target reaches all
	ShapeRing   = "ring"   // of all servers, each keeps its neighbours: each has a majority, no two the same
)

// The ways of a partition that is not both: from its target's sight.
const (
	WayIn  = "in"
	WayOut = "out"
)

// What becomes of the packets of a partition.
const (
	VerdictDrop   = "drop"   // they vanish
	VerdictReject = "reject" // connections are refused, and those that there are reset
)

func partitionFaults() []FaultKind {
	return []FaultKind{
		{Name: FaultPartition, Family: FamilyPartition, Targets: OnServer | OnClient | OnAll, Needs: []string{"from"}, May: []string{"shape", "way", "verdict"}, Outage: true,
			Does: "the target cut off `from` the other servers, the leader or the clients, everything beside it left alone; or `shape`: `halves` of the servers, a `bridge` that alone reaches both, " +
				"a `ring` of majorities; one `way` only: `in` or `out`; with `verdict`: `drop` or `reject`",
			Verified: "over each link that is cut datagrams do not arrive and connections time out (or are refused), over each that is not they arrive; after healing they do again and the ensemble is whole",
			check:    cutsSomething, draw: drawCut},
	}
}

// linkKeys are the keys of faults of links: of partitions, and of packets.
var linkKeys = []faultKey{
	{name: "from", help: "where the links lead to that are cut or slow: the servers, the leader, the clients", field: func(f *Fault) value {
		return choiceValue{&f.From, []string{FromServers, FromLeader, FromClients}}
	}},
	{name: "shape", help: "which links are cut, alone if not given", field: func(f *Fault) value {
		return choiceValue{&f.Shape, []string{ShapeAlone, ShapeHalves, ShapeBridge, ShapeRing}}
	}},
	{name: "way", help: "which way, seen from the target; both if not given", field: func(f *Fault) value { return choiceValue{&f.Way, []string{WayIn, WayOut}} }},
	{name: "verdict", help: "whether packets vanish or connections are refused, drop if not given", field: func(f *Fault) value {
		return choiceValue{&f.Verdict, []string{VerdictDrop, VerdictReject}}
	}},
	{name: "loss", help: "the share of packets that are lost, each way", field: func(f *Fault) value { return shareValue{&f.Loss} },
		absent: func(f *Fault) bool { return f.Loss == 0 }},
	{name: "bandwidth", help: "how much passes in a second, each way", field: func(f *Fault) value { return sizeValue{&f.Bandwidth} },
		absent: func(f *Fault) bool { return f.Bandwidth == 0 }},
	{name: "latency", help: "how much longer packets take, each way", field: func(f *Fault) value { return durationValue{&f.Latency} },
		absent: func(f *Fault) bool { return f.Latency == 0 }},
	{name: "jitter", help: "by how much latency differs at most", field: func(f *Fault) value { return durationValue{&f.Jitter} },
		absent: func(f *Fault) bool { return f.Jitter == 0 }},
}

// cutsSomething refuses a partition that cuts no link, or says twice which.
func cutsSomething(v *validator, f Fault, key func(string) string) {
	hasLinks(v, f, key)
	if f.Shape == "" || f.Shape == ShapeAlone {
		return
	}
	if f.From != FromServers || f.Way != "" {
		v.refuse(by(key("shape"), key("from"), key("way")), "from: "+FromServers+", and no way", "shape %s is of the links between servers, both ways", f.Shape)
	}
	switch {
	case f.Shape == ShapeRing && targetsOf(f.Target) != OnAll:
		v.refuse(by(key("shape"), key("target")), "target: "+TargetAll, "a ring is of all servers, not of %s", f.Target)
	case f.Shape == ShapeRing && v.Servers < 5:
		v.refuse(by(key("shape"), "servers"), "servers: 5", "in a ring of %d servers every server has every other", v.Servers)
	case f.Shape != ShapeRing && targetsOf(f.Target) != OnServer:
		v.refuse(by(key("shape"), key("target")), "target: "+OnServer.choices(), "shape %s needs a server to begin with, not %s", f.Shape, f.Target)
	}
}

// hasLinks refuses a fault of links where there are none.
func hasLinks(v *validator, f Fault, key func(string) string) {
	is := targetsOf(f.Target)
	switch {
	case is == OnClient && f.From == FromClients:
		v.refuse(by(key("from"), key("target")), "from: "+FromServers, "clients have no links to each other")
	case f.HitsServer() && v.Servers == 1 && f.From != FromClients:
		v.refuse(by(key("target"), "servers"), "servers: 3 or 5", "a single server has no other servers to be cut off from")
	case f.Target == TargetLeader && f.From == FromLeader:
		v.refuse(by(key("from"), key("target")), "from: "+FromServers, "the leader has no link to itself")
	case is == OnAll && f.From == FromServers && f.Shape != ShapeRing:
		v.refuse(by(key("from"), key("target")), "shape: "+ShapeRing+", or from: "+FromClients, "all servers cannot be cut off from all servers")
	}
}

// Delays reports whether one of the faults holds back packets of clients.
func (p Plan) Delays() bool {
	return slices.ContainsFunc(p.Steps, func(s PlannedFault) bool {
		f := s.Fault
		return f.Kind == FaultLatency && (targetsOf(f.Target) == OnClient || f.From == FromClients)
	})
}

// drawCut draws which links a partition cuts, and how: most often those of its target, both ways, silently.
func drawCut(r *rand.Rand, s *Scenario, f *Fault) {
	drawFrom(f)
	if r.IntN(4) == 0 {
		f.Verdict = VerdictReject
	}
	switch n := r.IntN(10); {
	case n == 0:
		f.Way = WayIn
	case n == 1:
		f.Way = WayOut
	case n < 5 && targetsOf(f.Target) == OnServer && s.Servers > 1:
		f.From, f.Shape = FromServers, []string{ShapeHalves, ShapeBridge}[r.IntN(2)]
	case f.Target == TargetAll && s.Servers > 3:
		f.From, f.Shape = FromServers, ShapeRing
	}
}
