package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// Loss loses a share of the packets between a host and others, each way, drawn at
// random for each packet by the host's kernel.
type Loss struct {
	ID    string
	Host  *ensembles.Host
	Peers []*ensembles.Host
	// Share is that of the packets that are lost, [minLoss] to 1.
	Share float64
	// Ensemble must be whole after healing.
	Ensemble *ensembles.Ensemble
}

// Inject applies the rule.
func (l Loss) Inject(ctx context.Context) (*Harm, error) {
	if _, err := sampleFor(l.Share); err != nil {
		return nil, fmt.Errorf("loss at %s: %w", l.Host.Name, err)
	}
	hosts := hit(ctx, l.Ensemble, Between([]*ensembles.Host{l.Host}, l.Peers))
	at, err := apply(ctx, l.rules())
	if err != nil {
		return nil, fmt.Errorf("loss at %s: %w", l.Host.Name, err)
	}
	return &Harm{At: at, Hosts: hosts, Verify: l.verify, Heal: l.heal, VerifyHealed: l.verifyHealed}, nil
}

func (l Loss) rules() []rule {
	return []rule{{l.Host, agent.Block{ID: l.ID, Peers: addresses(l.Peers), Loss: 100 * l.Share}}}
}

func (l Loss) heal(ctx context.Context) (int64, error) { return remove(ctx, l.rules()) }

// verify counts what is lost each way. Of a rule that loses the share that it should, a count is taken for wrong once in
// a million, also where the machine loses up to [stray] by itself; of no rule at all, only such losses can hide that, and
// the agent's word is asked besides. Where other faults take more, more may be lost.
func (l Loss) verify(ctx context.Context) error {
	n, err := sampleFor(l.Share)
	if err != nil {
		return err
	}
	least, most := lossesOf(n, l.Share)
	sample := transfer{count: n, every: time.Millisecond}
	return errors.Join(areThere(ctx, l.rules()), each(Between([]*ensembles.Host{l.Host}, l.Peers), func(link Link[*ensembles.Host]) error {
		heard, err := pass(ctx, link, sample, sample.count)
		if err != nil {
			return err
		}
		lost := n - heard.Count
		err = fmt.Errorf("%d of %d packets are lost from %s to %s, want %d to %d for a share of %g", lost, n, link.From.Name, link.To.Name, least, most, l.Share)
		switch {
		case lost < least:
			return err
		case lost > most:
			return excuseWay(ctx, l.rules(), link, err)
		}
		return nil
	}))
}

func (l Loss) verifyHealed(ctx context.Context) error {
	return errors.Join(awaitFree(ctx, l.rules(), l.Host, l.Peers), l.Ensemble.AwaitReady(ctx))
}

// awaitFree waits until the rules are gone and all packets pass again between a host
// and others, but for those that other faults lose.
func awaitFree(ctx context.Context, rules []rule, host *ensembles.Host, peers []*ensembles.Host) error {
	return ensembles.Poll(ctx, pollEvery, "all packets to pass again", func() error {
		if err := areGone(ctx, rules); err != nil {
			return err
		}
		return each(Between([]*ensembles.Host{host}, peers), func(link Link[*ensembles.Host]) error {
			heard, err := pass(ctx, link, few, few.count)
			if err == nil && heard.Count < few.count {
				err = fmt.Errorf("%d of %d packets are lost from %s to %s", few.count-heard.Count, few.count, link.From.Name, link.To.Name)
			}
			return excuseWay(ctx, rules, link, err)
		})
	})
}
