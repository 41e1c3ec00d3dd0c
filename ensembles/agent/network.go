package agent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/google/nftables"

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
	blocks map[string]Block
	ending bool
}

// block adds a rule, or replaces the one of the same id.
func (f *firewall) block(b Block) (Stamp, error) {
	if err := b.validate(); err != nil {
		return Stamp{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ending {
		return Stamp{}, errEnding
	}
	next := maps.Clone(f.blocks)
	if next == nil {
		next = map[string]Block{}
	}
	next[b.ID] = b
	return f.apply(next, history.NetworkBlocked, b.ID, b.String())
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

func (f *firewall) inForce() []InForce {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []InForce
	for id, b := range f.blocks {
		all = append(all, InForce{ID: id, Peers: b.Peers, Direction: b.Direction, Connections: len(b.Ports) > 0 || b.Payload})
	}
	return all
}

// apply makes blocks the rules in force. f.mu is held.
func (f *firewall) apply(blocks map[string]Block, mode, id, what string) (Stamp, error) {
	c, err := nftables.New()
	if err != nil {
		return Stamp{}, fmt.Errorf("nftables: %w", err)
	}
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: tableName}
	// Adding before deleting makes the deletion succeed whether or not the
	// table was there.
	c.AddTable(table)
	c.DelTable(table)
	if len(blocks) > 0 {
		c.AddTable(table)
		var all []Block
		for _, id := range slices.Sorted(maps.Keys(blocks)) {
			all = append(all, blocks[id])
		}
		if err := addRules(c, table, all); err != nil {
			return Stamp{}, err
		}
	}
	if err := c.Flush(); err != nil {
		return Stamp{}, lacking(fmt.Errorf("nftables: apply %d rules: %w", len(blocks), err), needs(blocks[id])...)
	}
	at := f.rec.Clock().Now()
	f.blocks = blocks
	if err := f.rec.Record(history.Event{At: at, Op: history.OpNetwork, Mode: mode, Fault: id, Target: what}); err != nil {
		return Stamp{}, err
	}
	return Stamp{At: at}, nil
}

// needs names the kernel's features beside plain rules that a block is made of.
func needs(b Block) []string {
	var all []string
	if b.Verdict == Reject {
		all = append(all, CapReject)
	}
	if b.Loss != 0 {
		all = append(all, CapLoss)
	}
	if b.Bandwidth != 0 {
		all = append(all, CapLimit)
	}
	return all
}

// lacking makes an [ErrUnsupported] of an error by which the kernel says that it
// does not have, or does not allow, one of the features.
func lacking(err error, features ...string) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: %s: %w", ErrUnsupported, CapNetAdmin, err)
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.EPROTONOSUPPORT):
		if len(features) > 0 {
			return fmt.Errorf("%w: %s: %w", ErrUnsupported, strings.Join(features, " or "), err)
		}
	}
	return err
}
