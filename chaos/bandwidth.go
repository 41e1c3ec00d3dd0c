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
		injector: toPeers(func(r *Run, i Injection, h *ensembles.Host, peers []*ensembles.Host) (Injector, error) {
			rate := uint64(params[bandwidthParams](i.Fault).Bandwidth)
			return Bandwidth{ID: i.ID, Host: h, Peers: peers, Rate: rate, Ensemble: r.Ensemble}, nil
		}),
	}
}

// bandwidthParams are the keys that only a bandwidth limit has.
type bandwidthParams struct {
	LinkParams
	Bandwidth settings.Size `key:"bandwidth" help:"how much data passes per second, in each direction" required:"true"`
}

// Bandwidth limits the bytes per second between a host and all of its peers together, in each direction separately.
// The host's kernel drops the packets beyond the limit.
type Bandwidth struct {
	ID    string
	Host  *ensembles.Host
	Peers []*ensembles.Host
	// Rate is in bytes per second, and includes the headers of IP and above.
	Rate uint64
	// Ensemble must be whole after healing.
	Ensemble *ensembles.Ensemble
}

// maxRate is the highest limit that can be verified, because verification has to send twice as much.
const maxRate = 50 << 20

// Inject applies the rule.
func (b Bandwidth) Inject(ctx context.Context) (*Harm, error) {
	if b.Rate == 0 || b.Rate > maxRate {
		return nil, fmt.Errorf("bandwidth of %d bytes/s at %s, want 1 to %d", b.Rate, b.Host.Name, maxRate)
	}
	hosts := affectedHosts(ctx, b.Ensemble, Between([]*ensembles.Host{b.Host}, b.Peers))
	at, err := apply(ctx, b.rules())
	if err != nil {
		return nil, fmt.Errorf("bandwidth at %s: %w", b.Host.Name, err)
	}
	return &Harm{At: at, Hosts: hosts, Verify: b.verify, Heal: b.heal, VerifyHealed: b.verifyHealed}, nil
}

func (b Bandwidth) rules() []rule {
	return []rule{{b.Host, agent.Block{ID: b.ID, Peers: addresses(b.Peers), Bandwidth: b.Rate}}}
}

func (b Bandwidth) heal(ctx context.Context) (int64, error) { return remove(ctx, b.rules()) }

// The size of a datagram of the measurement, and what the headers of IP and UDP add to it.
const (
	packet  = 1000
	headers = 28
)

// load returns a transfer that exceeds the limit. In half a second it sends what may pass in a second and a half (the
// kernel lets a second's worth pass at once), and half as much again.
func (b Bandwidth) load() transfer {
	const lasts = time.Second / 2
	n := max(20, int(b.Rate*9/4/(packet+headers)))
	return transfer{count: n, size: packet, every: lasts / time.Duration(n)}
}

// verify sends more than the limit in each direction, to all peers at once, and measures what arrives. Less than the
// limit may arrive, because there is other traffic.
func (b Bandwidth) verify(ctx context.Context) error {
	if err := areThere(ctx, b.rules()); err != nil {
		return err
	}
	host := []*ensembles.Host{b.Host}
	for _, links := range [][]Link[*ensembles.Host]{OneWay(host, b.Peers), OneWay(b.Peers, host)} {
		var mu sync.Mutex
		var arrived, sent int
		begun := time.Now()
		t := b.load()
		err := each(links, func(l Link[*ensembles.Host]) error {
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
		most := float64(b.Rate)*(1+time.Since(begun).Seconds()) + 2*(packet+headers)
		if bytes := float64(arrived * (packet + headers)); bytes > most || arrived == sent {
			return fmt.Errorf("%d of %d packets, %.0f bytes, passed from %s to %s in %v, want at most %.0f",
				arrived, sent, bytes, links[0].From.Name, links[0].To.Name, time.Since(begun), most)
		}
	}
	return nil
}

func (b Bandwidth) verifyHealed(ctx context.Context) error {
	return errors.Join(awaitFree(ctx, b.rules(), b.Host, b.Peers), b.Ensemble.AwaitReady(ctx))
}
