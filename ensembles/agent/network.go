package agent

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"

	"locklab/harness/history"
)

// tableName is the one nftables table an agent owns, in its own namespace.
const tableName = "locklab"

// firewall keeps a host's network blocks. The table is always replaced as a
// whole, in one transaction, so that rules never half apply.
//
// Rules match peers' addresses only, and peers are hosts of the lab. The control
// connection comes from the network's gateway, which is no host, so no rule can
// match it; the agent refuses one that would.
type firewall struct {
	rec *history.Recorder

	mu     sync.Mutex
	blocks map[string][]netip.Addr
	ending bool
}

// block adds a rule, or replaces the one of the same id.
func (f *firewall) block(b Block) (Stamp, error) {
	if b.ID == "" || len(b.Peers) == 0 {
		return Stamp{}, fmt.Errorf("block: id and peers are required")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return Stamp{}, errEnding
	}
	next := maps.Clone(f.blocks)
	if next == nil {
		next = map[string][]netip.Addr{}
	}
	next[b.ID] = b.Peers
	return f.apply(next, history.NetworkBlocked, b.ID, fmt.Sprint(b.Peers))
}

// clear removes a rule; the empty id removes all. A rule that is not there is no error.
func (f *firewall) clear(id string) (Stamp, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	next := maps.Clone(f.blocks)
	delete(next, id)
	if id == "" {
		next = nil
	}
	return f.apply(next, history.NetworkCleared, id, "")
}

// end clears all rules and lets no other be added.
func (f *firewall) end() error {
	f.mu.Lock()
	f.ending = true
	n := len(f.blocks)
	f.mu.Unlock()
	if n == 0 {
		return nil // nor is there a need to be allowed to
	}
	_, err := f.clear("")
	return err
}

func (f *firewall) rules() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.blocks))
}

// apply makes blocks the rules in force. f.mu is held.
func (f *firewall) apply(blocks map[string][]netip.Addr, mode, id, peers string) (Stamp, error) {
	c, err := nftables.New()
	if err != nil {
		return Stamp{}, fmt.Errorf("nftables: %w", err)
	}
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: tableName}
	// Adding before deleting makes the deletion succeed whether or not the
	// table was there.
	c.AddTable(table)
	c.DelTable(table)
	if peers := unionOf(blocks); len(peers) > 0 {
		c.AddTable(table)
		if err := dropPeers(c, table, peers); err != nil {
			return Stamp{}, err
		}
	}
	if err := c.Flush(); err != nil {
		return Stamp{}, fmt.Errorf("nftables: apply %d rules: %w", len(blocks), err)
	}
	at := f.rec.Clock().Now()
	f.blocks = blocks
	if err := f.rec.Record(history.Event{At: at, Op: history.OpNetwork, Mode: mode, Fault: id, Target: peers}); err != nil {
		return Stamp{}, err
	}
	return Stamp{At: at}, nil
}

func unionOf(blocks map[string][]netip.Addr) []netip.Addr {
	var all []netip.Addr
	for _, peers := range blocks {
		all = append(all, peers...)
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// dropPeers drops what comes from peers and what goes to them.
func dropPeers(c *nftables.Conn, table *nftables.Table, peers []netip.Addr) error {
	set := &nftables.Set{Table: table, Name: "peers", KeyType: nftables.TypeIPAddr, KeyByteOrder: binaryutil.BigEndian}
	elements := make([]nftables.SetElement, len(peers))
	for i, p := range peers {
		if !p.Is4() {
			return fmt.Errorf("block: %v is no IPv4 address", p)
		}
		elements[i] = nftables.SetElement{Key: p.AsSlice()}
	}
	if err := c.AddSet(set, elements); err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	const sourceOffset, destinationOffset = 12, 16 // of the addresses in the IPv4 header
	for _, side := range []struct {
		name   string
		hook   *nftables.ChainHook
		offset uint32
	}{{"in", nftables.ChainHookInput, sourceOffset}, {"out", nftables.ChainHookOutput, destinationOffset}} {
		chain := c.AddChain(&nftables.Chain{Name: side.name, Table: table, Type: nftables.ChainTypeFilter,
			Hooknum: side.hook, Priority: nftables.ChainPriorityFilter})
		c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: []expr.Any{
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: side.offset, Len: 4},
			&expr.Lookup{SourceRegister: 1, SetName: set.Name, SetID: set.ID},
			&expr.Counter{},
			&expr.Verdict{Kind: expr.VerdictDrop},
		}})
	}
	return nil
}
