package serve

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// delays keeps a host's delays and the relays that carry them out. A peer to which no relay leads needs netem.
type delays struct {
	rec *history.Recorder

	mu      sync.Mutex
	all     map[string]agent.Delay
	changed chan struct{} // closed and replaced at every change of all
	relays  map[netip.AddrPort]*relay
	ending  bool
}

func newDelays(rec *history.Recorder) *delays {
	return &delays{rec: rec, all: map[string]agent.Delay{}, changed: make(chan struct{}),
		relays: map[netip.AddrPort]*relay{}}
}

// relay returns where the relay to an address listens. It makes the relay if there is none.
func (d *delays) relay(ctx context.Context, q agent.RelayRequest) (agent.RelayResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending {
		return agent.RelayResult{}, errEnding
	}
	if !q.To.Addr().Is4() || q.To.Port() == 0 {
		return agent.RelayResult{}, fmt.Errorf("relay: %v is not an IPv4 address with a port", q.To)
	}
	r := d.relays[q.To]
	if r == nil {
		var err error
		if r, err = newRelay(ctx, q.To, d, q.Seed); err != nil {
			return agent.RelayResult{}, fmt.Errorf("relay: %w", err)
		}
		d.relays[q.To] = r
	}
	return agent.RelayResult{Address: r.address()}, nil
}

// add puts a delay in force, or replaces the one with the same id.
func (d *delays) add(q agent.Delay) (agent.Stamp, error) {
	if err := validateDelay(q); err != nil {
		return agent.Stamp{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending {
		return agent.Stamp{}, errEnding
	}
	next := maps.Clone(d.all)
	next[q.ID] = q
	what := fmt.Sprintf("%v ± %v %v", q.Latency, q.Jitter, q.Peers)
	return d.apply(next, history.NetworkDelayed, q.ID, what)
}

// has reports whether there is a delay with that id, or any delay if the id is empty.
func (d *delays) has(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.all[id]
	return ok || id == "" && len(d.all) > 0
}

// clear ends a delay, or all delays if the id is empty. What they hold back passes at once.
func (d *delays) clear(id string) (agent.Stamp, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := maps.Clone(d.all)
	delete(next, id)
	if id == "" {
		next = map[string]agent.Delay{}
	}
	return d.apply(next, history.NetworkCleared, id, "")
}

// end clears all delays, closes the relays and prevents new ones.
func (d *delays) end() error {
	var err error
	if d.has("") {
		_, err = d.clear("")
	}
	d.mu.Lock()
	d.ending = true
	relays := d.relays
	d.relays = nil
	d.mu.Unlock()
	for _, r := range relays {
		r.close()
	}
	return err
}

// inForce reports each delay as one of both directions, because a relay delays both.
func (d *delays) inForce() []agent.InForce {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []agent.InForce
	for id, q := range d.all {
		all = append(all, agent.InForce{ID: id, Peers: q.Peers})
	}
	return all
}

// apply makes next the delays in force. d.mu is held.
func (d *delays) apply(next map[string]agent.Delay, state history.NetworkState, id, what string) (agent.Stamp, error) {
	// The kernel delays the peers to which no relay leads.
	if err := setNetem(d.kernels(d.all), d.kernels(next)); err != nil {
		return agent.Stamp{}, err
	}
	d.all = next
	close(d.changed)
	d.changed = make(chan struct{})
	at := d.rec.Clock().Now()
	change := history.NetworkChange{State: state, Rule: id, Peers: what}.Event()
	change.At = at
	if err := d.rec.Record(change); err != nil {
		return agent.Stamp{}, err
	}
	return agent.Stamp{At: at}, nil
}

// kernels adds up the delays of each peer to which no relay leads. d.mu is held.
func (d *delays) kernels(all map[string]agent.Delay) map[netip.Addr]agent.Delay {
	sums := map[netip.Addr]agent.Delay{}
	for _, q := range all {
		for _, p := range q.Peers {
			if !d.relayed(p) {
				sums[p] = agent.Delay{Latency: sums[p].Latency + q.Latency, Jitter: sums[p].Jitter + q.Jitter}
			}
		}
	}
	return sums
}

// relayed reports whether a relay leads to the peer. d.mu is held.
func (d *delays) relayed(peer netip.Addr) bool {
	for to := range d.relays {
		if to.Addr() == peer {
			return true
		}
	}
	return false
}

// wait returns when data that was read at a time may pass to or from a peer. It follows the delays that are in force
// while it waits, so a delay that ends no longer holds back anything. draw, in [-1, 1), is the data's share of the
// jitter.
func (d *delays) wait(peer netip.Addr, at time.Time, draw float64) {
	for {
		d.mu.Lock()
		var hold time.Duration
		for _, q := range d.all {
			if slices.Contains(q.Peers, peer) {
				hold += q.Latency + time.Duration(draw*float64(q.Jitter))
			}
		}
		changed, ending := d.changed, d.ending
		d.mu.Unlock()
		left := time.Until(at.Add(hold))
		if left <= 0 || ending {
			return
		}
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-changed:
		}
		t.Stop()
	}
}
