package chaos

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
)

func lossKind() Kind {
	return Kind{
		Name: "loss", Family: FamilyPackets, Targets: OnServer | OnClient, Capability: agent.CapNetAdmin,
		Nature: evidence.FaultNature{Cause: causePartition, HampersLeader: true, Passes: true},
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
		injector: toPeers(func(_ *Run, i injection, e ends) (Injector, error) {
			return loss{e, float64(params[lossParams](i.Fault).Loss)}, nil
		}),
	}
}

// lossParams are the keys that only a loss has.
type lossParams struct {
	LinkParams
	Loss lossShare `key:"loss" help:"the share of packets that are lost in each direction, such as 0.3" required:"true"`
}

func (p lossParams) delays() time.Duration {
	if p.Loss < 1 {
		return 0 // what is lost is sent again
	}
	return math.MaxInt64
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

// loss drops a share of the packets between a host and its peers, in each direction. The host's kernel decides at
// random for each packet.
type loss struct {
	ends
	share float64 // of the packets that are lost, from [minLoss] to 1
}

// Inject puts the rule in force.
func (l loss) Inject(ctx context.Context) (*Harm, error) {
	n, err := sampleFor(l.share)
	if err != nil {
		return nil, err
	}
	f := l.ruled(agent.Block{Loss: 100 * l.share})
	f.shows = func(ctx context.Context) error {
		return each(f.struck, func(link hostLink) error { return l.counted(ctx, f.rules, link, n) })
	}
	return f.Inject(ctx)
}

// counted sends n datagrams over a link and reports why the number of losses is wrong. A rule that loses the right
// share is judged wrong once in a million times, even if the machine itself loses up to [stray]. Where other faults
// lose packets too, more may be lost.
func (l loss) counted(ctx context.Context, own []rule, link hostLink, n int) error {
	heard, err := pass(ctx, link, transfer{count: n, every: time.Millisecond}, n)
	if err != nil {
		return err
	}
	least, most := lossesOf(n, l.share)
	lost := n - heard.Count
	err = fmt.Errorf("%d of %d packets are lost from %s to %s, want %d to %d for a share of %g",
		lost, n, link.from.Name, link.to.Name, least, most, l.share)
	switch {
	case lost < least:
		return err
	case lost > most:
		return excuseWay(ctx, own, link, err)
	}
	return nil
}

// How many datagrams are sent to count losses. One is sent each millisecond, so the largest sample takes half of the
// time for verifying a fault.
const (
	fewestProbes = 500
	mostProbes   = 5000
)

// missRate is how often a count may be judged wrong although the rule is right: half of it for too few losses, half
// for too many.
const missRate = 1e-6

// minLoss is the least share that can be verified. With a smaller share, none of [mostProbes] datagrams would be lost
// too often, so that the rule could not be told from no rule. The scenarios' validation uses the same number.
const minLoss = 0.003

// stray is the share of datagrams that a busy machine may lose by itself.
const stray = 0.01

// lossUnit is the resolution of an agent's shares, which it rounds to.
const lossUnit = 0.0001

// sampleFor returns how many datagrams tell a share of losses from none: with the rule in force, a sample without any
// loss is at most half as likely as [missRate]. The largest sample can tell shares of up to 1 - minLoss from a link
// that is cut.
func sampleFor(share float64) (int, error) {
	if !(share >= minLoss && share <= 1) {
		return 0, fmt.Errorf("a loss of %g of the packets cannot be verified, want %g to 1", share, minLoss)
	}
	n := fewestProbes
	if rare := min(share, 1-share); rare > 0 {
		n = max(n, int(math.Ceil(math.Log(missRate/2)/math.Log1p(-rare))))
	}
	return min(n, mostProbes), nil
}

// lossesOf returns how many of n packets are lost at least and at most by a rule of that share. The most includes
// what the machine may lose by itself. The least does not, because such losses must not make up for a rule that loses
// too little.
func lossesOf(n int, share float64) (least, most int) {
	drawn := math.Round(share/lossUnit) * lossUnit
	least, _ = lossBounds(n, drawn)
	_, most = lossBounds(n, 1-(1-drawn)*(1-stray))
	return least, most
}

// lossBounds returns how many of n packets are lost, at least and at most, if each is lost with the probability
// share. Fewer and more are each lost in at most half of [missRate], by the tails of the binomial distribution.
func lossBounds(n int, share float64) (least, most int) {
	if share == 1 {
		return n, n
	}
	tail := 0.0
	for least = 0; tail+binomial(n, least, share) <= missRate/2; least++ {
		tail += binomial(n, least, share)
	}
	tail = 0
	for most = n; tail+binomial(n, most, share) <= missRate/2; most-- {
		tail += binomial(n, most, share)
	}
	return least, most
}

// binomial returns the probability of k losses among n packets, for 0 < p < 1. It goes by the logarithm, because the
// factors overflow.
func binomial(n, k int, p float64) float64 {
	gamma := func(x int) float64 { lg, _ := math.Lgamma(float64(x)); return lg }
	return math.Exp(gamma(n+1) - gamma(k+1) - gamma(n-k+1) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}
