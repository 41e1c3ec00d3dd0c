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
		injector: toPeers(func(r *Run, i Injection, h *ensembles.Host, peers []*ensembles.Host) (Injector, error) {
			share := float64(params[lossParams](i.Fault).Loss)
			return Loss{ID: i.ID, Host: h, Peers: peers, Share: share, Ensemble: r.Ensemble}, nil
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

// Loss drops a share of the packets between a host and others, in each direction. The host's kernel decides at random
// for each packet.
type Loss struct {
	ID    string
	Host  *ensembles.Host
	Peers []*ensembles.Host
	// Share is the share of packets that are lost, from [minLoss] to 1.
	Share float64
	// Ensemble must be whole after healing.
	Ensemble *ensembles.Ensemble
}

// Inject applies the rule.
func (l Loss) Inject(ctx context.Context) (*Harm, error) {
	if _, err := sampleFor(l.Share); err != nil {
		return nil, fmt.Errorf("loss at %s: %w", l.Host.Name, err)
	}
	hosts := affectedHosts(ctx, l.Ensemble, Between([]*ensembles.Host{l.Host}, l.Peers))
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

// verify counts the losses in each direction. A rule that loses the right share is judged wrong once in a million
// times, even if the machine itself loses up to [stray]. Only such losses of the machine could hide a missing rule,
// so verify also asks the agent whether the rule is there. Where other faults lose packets too, more may be lost.
func (l Loss) verify(ctx context.Context) error {
	n, err := sampleFor(l.Share)
	if err != nil {
		return err
	}
	least, most := lossesOf(n, l.Share)
	sample := transfer{count: n, every: time.Millisecond}
	return errors.Join(
		areThere(ctx, l.rules()),
		each(Between([]*ensembles.Host{l.Host}, l.Peers), func(link Link[*ensembles.Host]) error {
			heard, err := pass(ctx, link, sample, sample.count)
			if err != nil {
				return err
			}
			lost := n - heard.Count
			err = fmt.Errorf(
				"%d of %d packets are lost from %s to %s, want %d to %d for a share of %g",
				lost,
				n,
				link.From.Name,
				link.To.Name,
				least,
				most,
				l.Share,
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

func (l Loss) verifyHealed(ctx context.Context) error {
	return errors.Join(awaitFree(ctx, l.rules(), l.Host, l.Peers), l.Ensemble.AwaitReady(ctx))
}

// awaitFree waits until the rules are gone and all packets pass again between a host and others, except for those
// that other faults drop.
func awaitFree(ctx context.Context, rules []rule, host *ensembles.Host, peers []*ensembles.Host) error {
	return ensembles.Poll(ctx, pollEvery, "all packets to pass again", func() error {
		if err := areGone(ctx, rules); err != nil {
			return err
		}
		return each(Between([]*ensembles.Host{host}, peers), func(link Link[*ensembles.Host]) error {
			heard, err := pass(ctx, link, few, few.count)
			if err == nil && heard.Count < few.count {
				err = fmt.Errorf(
					"%d of %d packets are lost from %s to %s",
					few.count-heard.Count,
					few.count,
					link.From.Name,
					link.To.Name,
				)
			}
			return excuseWay(ctx, rules, link, err)
		})
	})
}
