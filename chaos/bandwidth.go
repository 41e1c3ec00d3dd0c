package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// Bandwidth lets no more than so many bytes a second pass between a host and others,
// each way by itself, all of them together. What is over it is dropped.
type Bandwidth struct {
	ID    string
	Host  *ensembles.Host
	Peers []*ensembles.Host
	// Rate is in bytes a second, headers of IP and above included.
	Rate uint64
	// Ensemble must be whole after healing.
	Ensemble *ensembles.Ensemble
}

// maxRate is the most that can be verified: twice as much has to be sent.
const maxRate = 50 << 20

// Inject applies the rule.
func (b Bandwidth) Inject(ctx context.Context) (*Harm, error) {
	if b.Rate == 0 || b.Rate > maxRate {
		return nil, fmt.Errorf("bandwidth of %d bytes/s at %s, want 1 to %d", b.Rate, b.Host.Name, maxRate)
	}
	hosts := hit(ctx, b.Ensemble, Between([]*ensembles.Host{b.Host}, b.Peers))
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

// A datagram of the measurement, and what the headers of IP and UDP add to it.
const (
	packet  = 1000
	headers = 28
)

// load is more than passes in its time: over half a second, what a second and a half
// may carry (the kernel lets a second's worth pass at once) and half as much again.
func (b Bandwidth) load() transfer {
	const lasts = time.Second / 2
	n := max(20, int(b.Rate*9/4/(packet+headers)))
	return transfer{count: n, size: packet, every: lasts / time.Duration(n)}
}

// verify sends too much each way, to all peers at once, and measures what arrives.
// Anything may be lost: there is other traffic.
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
		// The machine may take longer to send than it was told; more may pass then.
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
