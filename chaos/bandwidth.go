package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/harness/check/evidence"
	"locklab/harness/settings"
)

func bandwidthKind() Kind {
	return Kind{
		Name: "bandwidth", Family: FamilyPackets, Targets: OnServer | OnClient, Capability: agent.CapNetAdmin,
		Nature: evidence.FaultNature{Cause: causePartition, HampersLeader: true, Passes: true},
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
		injector: toPeers(func(_ *Run, i injection, e ends) (Injector, error) {
			return bandwidth{e, uint64(params[bandwidthParams](i.Fault).Bandwidth)}, nil
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
	ends
	rate uint64 // in bytes per second, including the headers of IP and above
}

// maxRate is the highest limit that can be verified, because verification has to send twice as much.
const maxRate = 50 << 20

// Inject puts the rule in force.
func (b bandwidth) Inject(ctx context.Context) (*Harm, error) {
	if b.rate == 0 || b.rate > maxRate {
		return nil, fmt.Errorf("%d bytes/s, want 1 to %d", b.rate, maxRate)
	}
	f := b.ruled(agent.Block{Bandwidth: b.rate})
	f.shows = func(ctx context.Context) error {
		host := []*ensembles.Host{b.host}
		for _, links := range [][]hostLink{oneWay(host, b.peers), oneWay(b.peers, host)} {
			if err := b.measured(ctx, links); err != nil {
				return err
			}
		}
		return nil
	}
	return f.Inject(ctx)
}

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

// measured sends more than the limit over all links of one direction at once, and reports if too much of it arrives.
// Less than the limit may arrive, because there is other traffic.
func (b bandwidth) measured(ctx context.Context, links []hostLink) error {
	var arrived atomic.Int64
	begun := time.Now()
	t := b.load()
	err := each(links, func(l hostLink) error {
		heard, err := pass(ctx, l, t, t.count)
		arrived.Add(int64(heard.Count))
		return err
	})
	if err != nil {
		return err
	}
	// If the machine takes longer to send than it was asked to, more may pass.
	most := float64(b.rate)*(1+time.Since(begun).Seconds()) + 2*(packet+headers)
	n, sent := arrived.Load(), int64(len(links)*t.count)
	if bytes := float64(n * (packet + headers)); bytes > most || n == sent {
		return fmt.Errorf("%d of %d packets, %.0f bytes, passed from %s to %s in %v, want at most %.0f",
			n, sent, bytes, links[0].from.Name, links[0].to.Name, time.Since(begun), most)
	}
	return nil
}
