package agent

import (
	"fmt"
	"math"
	"slices"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// A side is one of the two hooks of a host, with where the peer and the host's own
// port are in a packet there.
type side struct {
	direction  Direction
	name       string
	hook       *nftables.ChainHook
	peerOffset uint32 // in the IPv4 header
	portOffset uint32 // in the TCP header
}

var sides = []side{
	{In, "in", nftables.ChainHookInput, 12, 2},
	{Out, "out", nftables.ChainHookOutput, 16, 0},
}

// The flags of a TCP header, and where they are in it.
const (
	flagsOffset = 13
	flagReset   = 0x04
	flagPush    = 0x08
)

// addRules adds the rules of all blocks to the table, each in the order given.
func addRules(c *nftables.Conn, table *nftables.Table, blocks []Block) error {
	for _, side := range sides {
		chain := c.AddChain(&nftables.Chain{Name: side.name, Table: table, Type: nftables.ChainTypeFilter,
			Hooknum: side.hook, Priority: nftables.ChainPriorityFilter})
		for i, b := range blocks {
			if b.Direction != Both && b.Direction != side.direction {
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

// matchPeers is the expressions for the packets that a block is about on one side.
func matchPeers(c *nftables.Conn, table *nftables.Table, name string, side side, b Block) ([]expr.Any, error) {
	set := &nftables.Set{Table: table, Name: name, KeyType: nftables.TypeIPAddr, KeyByteOrder: binaryutil.BigEndian}
	var elements []nftables.SetElement
	for _, p := range b.Peers {
		e := nftables.SetElement{Key: p.AsSlice()}
		if !slices.ContainsFunc(elements, func(o nftables.SetElement) bool { return slices.Equal(o.Key, e.Key) }) {
			elements = append(elements, e)
		}
	}
	if err := c.AddSet(set, elements); err != nil {
		return nil, fmt.Errorf("nftables: %w", err)
	}
	match := []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: side.peerOffset, Len: 4},
		&expr.Lookup{SourceRegister: 1, SetName: set.Name, SetID: set.ID},
	}
	if len(b.Ports) > 0 {
		ports := &nftables.Set{Table: table, Name: "ports" + name, KeyType: nftables.TypeInetService, KeyByteOrder: binaryutil.BigEndian}
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
		match = append(match,
			&expr.Numgen{Register: 1, Modulus: uint32(100 / lossUnit), Type: unix.NFT_NG_RANDOM},
			// The kernel compares bytes in their order, and the number is of this machine's.
			&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
			&expr.Cmp{Register: 1, Op: expr.CmpOpLt, Data: binaryutil.BigEndian.PutUint32(uint32(math.Round(b.Loss / lossUnit)))})
	}
	if b.Bandwidth != 0 {
		match = append(match, &expr.Limit{Type: expr.LimitTypePktBytes, Rate: b.Bandwidth, Unit: expr.LimitTimeSecond, Over: true, Burst: b.burst()})
	}
	return match, nil
}

// endings is what becomes of the packets that a block meets.
func endings(b Block) [][]expr.Any {
	drop := []expr.Any{&expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop}}
	if b.Verdict != Reject {
		return [][]expr.Any{drop}
	}
	// A reset that the other side's rule, or this one's other direction, sends must
	// pass: it is the rejection.
	reset := []expr.Any{&expr.Counter{}, &expr.Reject{Type: unix.NFT_REJECT_TCP_RST}}
	other := []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, &expr.Cmp{Register: 1, Op: expr.CmpOpNeq, Data: []byte{unix.IPPROTO_TCP}}}
	return [][]expr.Any{slices.Concat(isTCP(), flag(flagReset, false), reset), slices.Concat(other, drop)}
}

// isTCP matches TCP packets.
func isTCP() []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, &expr.Cmp{Register: 1, Op: expr.CmpOpEq, Data: []byte{unix.IPPROTO_TCP}}}
}

// flag matches TCP packets with a flag, or without.
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
