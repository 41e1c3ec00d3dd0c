package serve

import (
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"locklab/ensembles/agent"
)

// A side is one of the two hooks of a host, with the positions of the peer and of the host's own port in a packet.
type side struct {
	direction  agent.Direction
	name       string
	hook       *nftables.ChainHook
	peerOffset uint32 // in the IPv4 header
	portOffset uint32 // in the TCP header
}

var sides = []side{
	{agent.In, "in", nftables.ChainHookInput, 12, 2},
	{agent.Out, "out", nftables.ChainHookOutput, 16, 0},
}

// The flags of a TCP header and their position in it.
const (
	flagsOffset = 13
	flagReset   = 0x04
	flagPush    = 0x08
)

// addRules adds the rules of all blocks to the table, in the order of the blocks.
func addRules(c *nftables.Conn, table *nftables.Table, blocks []agent.Block) error {
	for _, side := range sides {
		chain := c.AddChain(&nftables.Chain{Name: side.name, Table: table, Type: nftables.ChainTypeFilter,
			Hooknum: side.hook, Priority: nftables.ChainPriorityFilter})
		for i, b := range blocks {
			if b.Direction != agent.Both && b.Direction != side.direction {
				continue
			}
			match, err := matchPeers(c, table, fmt.Sprintf("peers-%s-%d", side.name, i), side, b)
			if err != nil {
				return err
			}
			for _, end := range endings(b) {
				c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: slices.Concat(match, end)})
			}
		}
	}
	return nil
}

// matchPeers returns the expressions that match the packets to which a block applies on one side.
func matchPeers(c *nftables.Conn, table *nftables.Table, name string, side side, b agent.Block) ([]expr.Any, error) {
	set := &nftables.Set{Table: table, Name: name, KeyType: nftables.TypeIPAddr, KeyByteOrder: binaryutil.BigEndian}
	var elements []nftables.SetElement
	for _, p := range slices.Compact(slices.SortedFunc(slices.Values(b.Peers), netip.Addr.Compare)) {
		elements = append(elements, nftables.SetElement{Key: p.AsSlice()})
	}
	if err := c.AddSet(set, elements); err != nil {
		return nil, fmt.Errorf("nftables: %w", err)
	}
	match := []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: side.peerOffset, Len: 4},
		&expr.Lookup{SourceRegister: 1, SetName: set.Name, SetID: set.ID},
	}
	if len(b.Ports) > 0 {
		ports := &nftables.Set{Table: table, Name: "ports" + name, KeyType: nftables.TypeInetService,
			KeyByteOrder: binaryutil.BigEndian}
		var elements []nftables.SetElement
		for _, p := range slices.Compact(slices.Sorted(slices.Values(b.Ports))) {
			elements = append(elements, nftables.SetElement{Key: binaryutil.BigEndian.PutUint16(p)})
		}
		if err := c.AddSet(ports, elements); err != nil {
			return nil, fmt.Errorf("nftables: %w", err)
		}
		match = append(slices.Concat(match, isTCP()),
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: side.portOffset, Len: 2},
			&expr.Lookup{SourceRegister: 1, SetName: ports.Name, SetID: ports.ID})
	}
	if b.Payload {
		match = slices.Concat(match, isTCP(), flag(flagPush, true))
	}
	if b.Loss != 0 {
		lost := binaryutil.BigEndian.PutUint32(uint32(math.Round(b.Loss / lossUnit)))
		match = append(match,
			&expr.Numgen{Register: 1, Modulus: uint32(100 / lossUnit), Type: unix.NFT_NG_RANDOM},
			// The kernel compares bytes in their order, and generates the number in the machine's.
			&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
			&expr.Cmp{Register: 1, Op: expr.CmpOpLt, Data: lost})
	}
	if b.Bandwidth != 0 {
		match = append(match, &expr.Limit{Type: expr.LimitTypePktBytes, Rate: b.Bandwidth, Unit: expr.LimitTimeSecond,
			Over: true, Burst: burst(b)})
	}
	return match, nil
}

// endings returns what happens to the packets to which a block applies, as the ends of one or more rules.
func endings(b agent.Block) [][]expr.Any {
	drop := []expr.Any{&expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop}}
	if b.Verdict != agent.Reject {
		return [][]expr.Any{drop}
	}
	// A reset must pass: it is the rejection that the peer's rule, or this rule in its other direction, has sent.
	reset := []expr.Any{&expr.Counter{}, &expr.Reject{Type: unix.NFT_REJECT_TCP_RST}}
	return [][]expr.Any{
		slices.Concat(isTCP(), flag(flagReset, false), reset),
		slices.Concat(protocol(expr.CmpOpNeq), drop),
	}
}

// isTCP matches TCP packets.
func isTCP() []expr.Any { return protocol(expr.CmpOpEq) }

// protocol compares a packet's protocol with TCP.
func protocol(op expr.CmpOp) []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
		&expr.Cmp{Register: 1, Op: op, Data: []byte{unix.IPPROTO_TCP}},
	}
}

// flag matches TCP packets that have a flag, or that do not have it.
func flag(f byte, with bool) []expr.Any {
	op := expr.CmpOpEq
	if with {
		op = expr.CmpOpNeq
	}
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: flagsOffset, Len: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 1, Mask: []byte{f}, Xor: []byte{0}},
		&expr.Cmp{Register: 1, Op: op, Data: []byte{0}},
	}
}
