package agent

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"locklab/harness/history"
)

// delays keeps a host's delays and the relays that carry them out. A host without
// relays needs netem.
type delays struct {
	rec *history.Recorder

	mu      sync.Mutex
	all     map[string]Delay
	changed chan struct{} // closed and replaced with every change of all
	relays  map[netip.AddrPort]*relay
	ending  bool
}

func newDelays(rec *history.Recorder) *delays {
	return &delays{rec: rec, all: map[string]Delay{}, changed: make(chan struct{}), relays: map[netip.AddrPort]*relay{}}
}

// relay returns where a relay to the address listens, and makes it if need be.
func (d *delays) relay(ctx context.Context, q RelayRequest) (RelayResult, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending {
		return RelayResult{}, errEnding
	}
	if !q.To.Addr().Is4() || q.To.Port() == 0 {
		return RelayResult{}, fmt.Errorf("relay: %v is no IPv4 address with a port", q.To)
	}
	r := d.relays[q.To]
	if r == nil {
		var err error
		if r, err = newRelay(ctx, q.To, d, q.Seed); err != nil {
			return RelayResult{}, fmt.Errorf("relay: %w", err)
		}
		d.relays[q.To] = r
	}
	return RelayResult{Address: r.address()}, nil
}

// add puts a delay in force, or replaces the one of the same id.
func (d *delays) add(q Delay) (Stamp, error) {
	if err := q.validate(); err != nil {
		return Stamp{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ending {
		return Stamp{}, errEnding
	}
	next := maps.Clone(d.all)
	next[q.ID] = q
	return d.apply(next, history.NetworkDelayed, q.ID, fmt.Sprintf("%v ± %v %v", q.Latency, q.Jitter, q.Peers))
}

// has reports whether there is a delay of that id; the empty id stands for any.
func (d *delays) has(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.all[id]
	return ok || id == "" && len(d.all) > 0
}

// clear ends a delay, or all for the empty id, and lets go at once what it holds back.
func (d *delays) clear(id string) (Stamp, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := maps.Clone(d.all)
	delete(next, id)
	if id == "" {
		next = map[string]Delay{}
	}
	return d.apply(next, history.NetworkCleared, id, "")
}

// end clears all, closes the relays and lets no other be made.
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

// inForce counts a delay as of both directions, which those of relays are.
func (d *delays) inForce() []InForce {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []InForce
	for id, q := range d.all {
		all = append(all, InForce{ID: id, Peers: q.Peers})
	}
	return all
}

// apply makes next the delays in force. d.mu is held.
func (d *delays) apply(next map[string]Delay, mode, id, what string) (Stamp, error) {
	// Those of peers without a relay are the kernel's.
	if err := setNetem(d.kernels(d.all), d.kernels(next)); err != nil {
		return Stamp{}, err
	}
	d.all = next
	close(d.changed)
	d.changed = make(chan struct{})
	at := d.rec.Clock().Now()
	if err := d.rec.Record(history.Event{At: at, Op: history.OpNetwork, Mode: mode, Fault: id, Target: what}); err != nil {
		return Stamp{}, err
	}
	return Stamp{At: at}, nil
}

// kernels sums up the delays of those peers that no relay leads to. d.mu is held.
func (d *delays) kernels(all map[string]Delay) map[netip.Addr]Delay {
	sums := map[netip.Addr]Delay{}
	for _, q := range all {
		for _, p := range q.Peers {
			if !d.relayed(p) {
				sums[p] = Delay{Latency: sums[p].Latency + q.Latency, Jitter: sums[p].Jitter + q.Jitter}
			}
		}
	}
	return sums
}

// relayed reports whether a relay leads to a peer. d.mu is held.
func (d *delays) relayed(peer netip.Addr) bool {
	for to := range d.relays {
		if to.Addr() == peer {
			return true
		}
	}
	return false
}

// wait returns when what was read at a time may go on to, or come from, a peer. It
// goes by the delays in force while it waits, so a delay that ends holds back nothing.
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
