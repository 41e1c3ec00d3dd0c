package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check"
	"locklab/harness/settings"
)

func bandwidthKind() Kind {
	return Kind{
		Name: "bandwidth", Family: FamilyPackets, Targets: OnServer | OnClient,
		Nature: check.FaultNature{Cause: causePartition, HampersLeader: true},
		Does:   "packets beyond a number of bytes per second are dropped, in each direction; none is queued",
		Verified: "of a larger load, sent in each direction, no more than the limit arrives; after healing, all " +
			"of it arrives",
		Examples: []string{"target: c1, from: servers, bandwidth: 100KiB", "target: zk1, from: clients, bandwidth: 100KiB"},
		Params:   bandwidthParams{},
		draw: func(r *rand.Rand, _ *Setting, f *Fault) {
			f.Params = bandwidthParams{drawLinks(r, f), settings.Size(16+r.IntN(241)) * settings.KiB}
		},
		check: func(c *checker, f Fault) {
			checkLinks(c, f)
			if p := params[bandwidthParams](f); p.Bandwidth > maxRate {
				c.refuse(at("bandwidth"), "bandwidth: "+settings.Size(maxRate).String()+", or less",
					"a bandwidth of %s cannot be told from none", p.Bandwidth)
			}
		},
		injector: toPeers(func(r *Run, i injection, h *ensembles.Host, peers []*ensembles.Host) (Injector, error) {
			rate := uint64(params[bandwidthParams](i.Fault).Bandwidth)
			return bandwidth{id: i.id, host: h, peers: peers, rate: rate, ensemble: r.Ensemble}, nil
		}),
	}
}

// bandwidthParams are the keys that only a bandwidth limit has.
type bandwidthParams struct {
	LinkParams
	Bandwidth settings.Size `key:"bandwidth" help:"how much data passes per second, in each direction" required:"true"`
}

// bandwidth limits the bytes per second between a host and all of its peers together, in each direction separately.
// The host's kernel drops the packets beyond the limit.
type bandwidth struct {
	id    string
	host  *ensembles.Host
	peers []*ensembles.Host
	// Rate is in bytes per second, and includes the headers of IP and above.
	rate uint64
	// Ensemble must be whole after healing.
	ensemble *ensembles.Ensemble
}

// maxRate is the highest limit that can be verified, because verification has to send twice as much.
const maxRate = 50 << 20

// Inject applies the rule.
func (b bandwidth) Inject(ctx context.Context) (*Harm, error) {
	if b.rate == 0 || b.rate > maxRate {
		return nil, fmt.Errorf("bandwidth of %d bytes/s at %s, want 1 to %d", b.rate, b.host.Name, maxRate)
	}
	hosts := affectedHosts(ctx, b.ensemble, between([]*ensembles.Host{b.host}, b.peers))
	at, err := apply(ctx, b.rules())
	if err != nil {
		return nil, fmt.Errorf("bandwidth at %s: %w", b.host.Name, err)
	}
	return &Harm{At: at, Hosts: hosts, Verify: b.verify, Heal: b.heal, VerifyHealed: b.verifyHealed}, nil
}

func (b bandwidth) rules() []rule {
	return []rule{{b.host, agent.Block{ID: b.id, Peers: addresses(b.peers), Bandwidth: b.rate}}}
}

func (b bandwidth) heal(ctx context.Context) (int64, error) { return remove(ctx, b.rules()) }

// The size of a datagram of the measurement, and what the headers of IP and UDP add to it.
const (
	packet  = 1000
	headers = 28
)

// load returns a transfer that exceeds the limit. In half a second it sends what may pass in a second and a half (the
// kernel lets a second's worth pass at once), and half as much again.
func (b bandwidth) load() transfer {
	const lasts = time.Second / 2
	n := max(20, int(b.rate*9/4/(packet+headers)))
	return transfer{count: n, size: packet, every: lasts / time.Duration(n)}
}

// verify sends more than the limit in each direction, to all peers at once, and measures what arrives. Less than the
// limit may arrive, because there is other traffic.
func (b bandwidth) verify(ctx context.Context) error {
	if err := areThere(ctx, b.rules()); err != nil {
		return err
	}
	host := []*ensembles.Host{b.host}
	for _, links := range [][]hostLink{oneWay(host, b.peers), oneWay(b.peers, host)} {
		var mu sync.Mutex
		var arrived, sent int
		begun := time.Now()
		t := b.load()
		err := each(links, func(l hostLink) error {
			heard, err := pass(ctx, l, t, t.count)
			mu.Lock()
			defer mu.Unlock()
			arrived += heard.Count
			sent += t.count
			return err
		})
		if err != nil {
			return err
		}
		// If the machine takes longer to send than it was asked to, more may pass.
		most := float64(b.rate)*(1+time.Since(begun).Seconds()) + 2*(packet+headers)
		if bytes := float64(arrived * (packet + headers)); bytes > most || arrived == sent {
			return fmt.Errorf("%d of %d packets, %.0f bytes, passed from %s to %s in %v, want at most %.0f",
				arrived, sent, bytes, links[0].from.Name, links[0].to.Name, time.Since(begun), most)
		}
	}
	return nil
}

func (b bandwidth) verifyHealed(ctx context.Context) error {
	return errors.Join(awaitFree(ctx, b.rules(), b.host, b.peers), b.ensemble.AwaitReady(ctx))
}
