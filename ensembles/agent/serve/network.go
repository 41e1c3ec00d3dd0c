package serve

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"github.com/google/nftables"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// tableName is the name of the agent's nftables table, in the host's own network namespace.
const tableName = "locklab"

// firewall keeps a host's network blocks. It always replaces the whole table in one transaction, so that rules never
// apply in part.
//
// Rules match only the addresses of peers, which are hosts of the lab. The control connection comes from the network's
// gateway, which is not a host, and the agent refuses a rule that would match it.
type firewall struct{ ruleset[agent.Block] }

func newFirewall(rec *history.Recorder) *firewall {
	return &firewall{ruleset[agent.Block]{rec: rec, apply: replaceTable}}
}

// block adds a rule, or replaces the one with the same id.
func (f *firewall) block(b agent.Block) (agent.Stamp, error) {
	if err := validateBlock(b); err != nil {
		return agent.Stamp{}, err
	}
	return f.add(b.ID, b, history.NetworkBlocked, b.String())
}

func (f *firewall) inForce() []agent.InForce {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []agent.InForce
	for id, b := range f.rules {
		all = append(all, agent.InForce{ID: id, Peers: b.Peers, Direction: b.Direction,
			Connections: len(b.Ports) > 0 || b.Payload})
	}
	return all
}

// replaceTable puts exactly these blocks in force.
func replaceTable(blocks map[string]agent.Block, changed string) error {
	c, err := nftables.New()
	if err != nil {
		return fmt.Errorf("nftables: %w", err)
	}
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: tableName}
	// The table is added before it is deleted, so that the deletion succeeds whether or not the table existed.
	c.AddTable(table)
	c.DelTable(table)
	if len(blocks) > 0 {
		c.AddTable(table)
		var all []agent.Block
		for _, id := range slices.Sorted(maps.Keys(blocks)) {
			all = append(all, blocks[id])
		}
		if err := addRules(c, table, all); err != nil {
			return err
		}
	}
	if err := c.Flush(); err != nil {
		err = fmt.Errorf("nftables: apply %d rules: %w", len(blocks), err)
		return asUnsupported(err, needs(blocks[changed])...)
	}
	return nil
}

// needs names the kernel's features, apart from plain rules, that a block needs.
func needs(b agent.Block) []string {
	var all []string
	if b.Verdict == agent.Reject {
		all = append(all, agent.CapReject)
	}
	if b.Loss != 0 {
		all = append(all, agent.CapLoss)
	}
	if b.Bandwidth != 0 {
		all = append(all, agent.CapLimit)
	}
	return all
}

// asUnsupported wraps an error of the kernel in [agent.ErrUnsupported] if the kernel does not have or does not allow
// one of the features. It leaves other errors as they are.
func asUnsupported(err error, features ...string) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w: %s: %w", agent.ErrUnsupported, agent.CapNetAdmin, err)
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.EPROTONOSUPPORT):
		if len(features) > 0 {
			return fmt.Errorf("%w: %s: %w", agent.ErrUnsupported, strings.Join(features, " or "), err)
		}
	}
	return err
}
