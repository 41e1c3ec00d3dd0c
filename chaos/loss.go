package chaos

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check"
	"locklab/harness/settings"
)

func lossKind() Kind {
	return Kind{
		Name: "loss", Family: FamilyPackets, Targets: OnServer | OnClient,
		Nature: check.FaultNature{Cause: causePartition, HampersLeader: true},
		Does: "loses a share of the packets between the target and the servers, the leader or the clients at " +
			"random, in each direction",
		Verified: "500 datagrams are sent in each direction (up to 5000 if the share is small), and the number " +
			"lost is one that the share makes plausible, with a chance of error of one in a million; after " +
			"healing, none is lost",
		Examples: []string{"target: c1, from: servers, loss: 0.3", "target: zk1, from: servers, loss: 0.2"},
		Params:   lossParams{},
		draw: func(r *rand.Rand, _ *Setting, f *Fault) {
			f.Params = lossParams{drawLinks(r, f), lossShare(5+r.IntN(46)) / 100}
		},
		check: func(c *checker, f Fault) {
			checkLinks(c, f)
			if p := params[lossParams](f); p.Loss != 0 && p.Loss < minLoss {
				c.refuse(at("loss"), fmt.Sprintf("loss: %g, or more", minLoss),
					"a loss of %g of the packets cannot be told from none", p.Loss)
			}
		},
		injector: toPeers(func(r *Run, i injection, h *ensembles.Host, peers []*ensembles.Host) (Injector, error) {
			share := float64(params[lossParams](i.Fault).Loss)
			return loss{id: i.id, host: h, peers: peers, share: share, ensemble: r.Ensemble}, nil
		}),
	}
}

// lossParams are the keys that only a loss has.
type lossParams struct {
	LinkParams
	Loss lossShare `key:"loss" help:"the share of packets that are lost, in each direction" required:"true"`
}

// A lossShare is the share of packets that are lost.
type lossShare float64

// MarshalText implements [encoding.TextMarshaler].
func (s lossShare) MarshalText() ([]byte, error) {
	return []byte(settings.FormatNumber(float64(s))), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *lossShare) UnmarshalText(text []byte) error {
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(x >= 0 && x <= 1) { // NaN is neither
		return settings.Errorf("a number from 0 to 1, such as 0.9", "%s is not a share", settings.Quote(string(text)))
	}
	*s = lossShare(math.Abs(x)) // -0 is 0
	return nil
}

// Schema implements [settings.Schemer].
func (lossShare) Schema() settings.Schema {
	return settings.Schema{"type": "number", "minimum": 0, "maximum": 1}
}

// loss drops a share of the packets between a host and others, in each direction. The host's kernel decides at random
// for each packet.
type loss struct {
	id    string
	host  *ensembles.Host
	peers []*ensembles.Host
	// sharedFault is the share of packets that are lost, from [minLoss] to 1.
	share float64
	// Ensemble must be whole after healing.
	ensemble *ensembles.Ensemble
}

// Inject applies the rule.
func (l loss) Inject(ctx context.Context) (*Harm, error) {
	if _, err := sampleFor(l.share); err != nil {
		return nil, fmt.Errorf("loss at %s: %w", l.host.Name, err)
	}
	hosts := affectedHosts(ctx, l.ensemble, between([]*ensembles.Host{l.host}, l.peers))
	at, err := apply(ctx, l.rules())
	if err != nil {
		return nil, fmt.Errorf("loss at %s: %w", l.host.Name, err)
	}
	return &Harm{At: at, Hosts: hosts, Verify: l.verify, Heal: l.heal, VerifyHealed: l.verifyHealed}, nil
}

func (l loss) rules() []rule {
	return []rule{{l.host, agent.Block{ID: l.id, Peers: addresses(l.peers), Loss: 100 * l.share}}}
}

func (l loss) heal(ctx context.Context) (int64, error) { return remove(ctx, l.rules()) }

// verify counts the losses in each direction. A rule that loses the right share is judged wrong once in a million
// times, even if the machine itself loses up to [stray]. Only such losses of the machine could hide a missing rule,
// so verify also asks the agent whether the rule is there. Where other faults lose packets too, more may be lost.
func (l loss) verify(ctx context.Context) error {
	n, err := sampleFor(l.share)
	if err != nil {
		return err
	}
	least, most := lossesOf(n, l.share)
	sample := transfer{count: n, every: time.Millisecond}
	return errors.Join(
		areThere(ctx, l.rules()),
		each(between([]*ensembles.Host{l.host}, l.peers), func(link hostLink) error {
			heard, err := pass(ctx, link, sample, sample.count)
			if err != nil {
				return err
			}
			lost := n - heard.Count
			err = fmt.Errorf(
				"%d of %d packets are lost from %s to %s, want %d to %d for a share of %g",
				lost,
				n,
				link.from.Name,
				link.to.Name,
				least,
				most,
				l.share,
			)
			switch {
			case lost < least:
				return err
			case lost > most:
				return excuseWay(ctx, l.rules(), link, err)
			}
			return nil
		}),
	)
}

func (l loss) verifyHealed(ctx context.Context) error {
	return errors.Join(awaitFree(ctx, l.rules(), l.host, l.peers), l.ensemble.AwaitReady(ctx))
}

// awaitFree waits until the rules are gone and all packets pass again between a host and others, except for those
// that other faults drop.
func awaitFree(ctx context.Context, rules []rule, host *ensembles.Host, peers []*ensembles.Host) error {
	return ensembles.Poll(ctx, pollEvery, "all packets to pass again", func() error {
		if err := areGone(ctx, rules); err != nil {
			return err
		}
		return each(between([]*ensembles.Host{host}, peers), func(link hostLink) error {
			heard, err := pass(ctx, link, few, few.count)
			if err == nil && heard.Count < few.count {
				err = fmt.Errorf(
					"%d of %d packets are lost from %s to %s",
					few.count-heard.Count,
					few.count,
					link.from.Name,
					link.to.Name,
				)
			}
			return excuseWay(ctx, rules, link, err)
		})
	})
}
