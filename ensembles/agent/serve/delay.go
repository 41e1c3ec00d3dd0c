package serve

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// delays keeps a host's delays and the relays that carry them out. A peer to which no relay leads needs netem.
type delays struct {
	ruleset[agent.Delay]
	changed chan struct{} // closed and replaced at every change of the delays
	relays  map[relayKey]*relay
	// netem makes the kernel replace delays by others, by peer.
	netem func(old, next map[netip.Addr]agent.Delay) error
}

// A relayKey tells relays apart. Those that are far hold back by their round trip, and the others by the delays in
// force.
type relayKey struct {
	to        netip.AddrPort
	far       bool
	roundTrip time.Duration
}

func newDelays(rec *history.Recorder) *delays {
	d := &delays{changed: make(chan struct{}), relays: map[relayKey]*relay{}, netem: setNetem}
	d.ruleset = ruleset[agent.Delay]{rec: rec, apply: d.apply}
	return d
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
	key := relayKey{to: q.To}
	if q.RoundTrip != nil {
		if key.far, key.roundTrip = true, *q.RoundTrip; key.roundTrip < 0 || key.roundTrip > maxLatency {
			return agent.RelayResult{}, fmt.Errorf("relay: round trip of %v, want 0 to %v", key.roundTrip, maxLatency)
		}
	}
	r := d.relays[key]
	if r == nil {
		var err error
		if r, err = newRelay(ctx, key, d, q.Seed); err != nil {
			return agent.RelayResult{}, fmt.Errorf("relay: %w", err)
		}
		d.relays[key] = r
	}
	return agent.RelayResult{Address: r.address()}, nil
}

// delay puts a delay in force, or replaces the one with the same id.
func (d *delays) delay(q agent.Delay) (agent.Stamp, error) {
	if err := validateDelay(q); err != nil {
		return agent.Stamp{}, err
	}
	return d.add(q.ID, q, history.NetworkDelayed, fmt.Sprintf("%v ± %v %v", q.Latency, q.Jitter, q.Peers))
}

// end clears all delays, closes the relays and prevents new ones.
func (d *delays) end() error {
	err := d.ruleset.end()
	d.mu.Lock()
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
	for id, q := range d.rules {
		all = append(all, agent.InForce{ID: id, Peers: q.Peers})
	}
	return all
}

// apply makes the kernel delay the peers to which no relay leads, and wakes up whatever a relay holds back, so that a
// delay that is cleared holds it back no longer. d.mu is held.
func (d *delays) apply(next map[string]agent.Delay, _ string) error {
	if err := d.netem(d.kernels(d.rules), d.kernels(next)); err != nil {
		return err
	}
	close(d.changed)
	d.changed = make(chan struct{})
	return nil
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

// relayed reports whether a relay leads to the peer on which delays act. d.mu is held.
func (d *delays) relayed(peer netip.Addr) bool {
	for k := range d.relays {
		if !k.far && k.to.Addr() == peer {
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
		for _, q := range d.rules {
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

// setNetem makes the kernel hold back what the host sends to each peer. It does not delay anything else, such as the
// control connection: an HTB qdisc without a default class passes packets that no filter matches without queueing them.
func setNetem(was, want map[netip.Addr]agent.Delay) error {
	if len(was) == 0 && len(want) == 0 {
		return nil
	}
	// The link to each peer that is or was delayed is set up again.
	links := map[int][]netip.Addr{}
	union := maps.Clone(was)
	maps.Copy(union, want)
	for _, p := range slices.SortedFunc(maps.Keys(union), netip.Addr.Compare) {
		routes, err := netlink.RouteGet(p.AsSlice())
		if err != nil || len(routes) == 0 {
			return fmt.Errorf("route to %v: %w", p, err)
		}
		link := routes[0].LinkIndex
		links[link] = append(links[link], p)
	}
	for link, peers := range links {
		peers = slices.DeleteFunc(peers, func(p netip.Addr) bool { _, ok := want[p]; return !ok })
		if err := replaceQdiscs(link, peers, func(p netip.Addr, at netlink.QdiscAttrs) netlink.Qdisc {
			return netlink.NewNetem(at, netlink.NetemQdiscAttrs{Latency: uint32(want[p].Latency.Microseconds()),
				Jitter: uint32(want[p].Jitter.Microseconds()), Limit: netemLimit})
		}); err != nil {
			return err
		}
	}
	return nil
}

// netemLimit is how many packets the kernel holds back for a peer. It drops those that exceed it.
const netemLimit = 100_000

// replaceQdiscs gives each peer a queue of its own on a link. Without peers, it removes all queues.
func replaceQdiscs(link int, peers []netip.Addr, queue func(netip.Addr, netlink.QdiscAttrs) netlink.Qdisc) error {
	rootHandle := netlink.MakeHandle(1, 0)
	root := netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: link, Handle: rootHandle, Parent: netlink.HANDLE_ROOT})
	all, err := netlink.QdiscList(linkOf(link))
	if err != nil {
		return fmt.Errorf("list qdiscs: %w", err)
	}
	for _, q := range all {
		if q.Attrs().Handle == rootHandle && q.Attrs().Parent == netlink.HANDLE_ROOT {
			if err := netlink.QdiscDel(q); err != nil {
				return fmt.Errorf("delete qdisc: %w", err)
			}
		}
	}
	if len(peers) == 0 {
		return nil
	}
	if err := netlink.QdiscAdd(root); err != nil {
		return asUnsupported(fmt.Errorf("add htb: %w", err), agent.CapNetem)
	}
	for i, p := range peers {
		class := netlink.MakeHandle(1, uint16(i+1))
		// A class needs a rate. This one, 10 Gbit/s, does not limit a lab.
		c := netlink.NewHtbClass(netlink.ClassAttrs{LinkIndex: link, Parent: rootHandle, Handle: class},
			netlink.HtbClassAttrs{Rate: 10_000_000_000, Buffer: 1 << 20})
		err := netlink.ClassAdd(c)
		if err == nil {
			at := netlink.QdiscAttrs{LinkIndex: link, Parent: class, Handle: netlink.MakeHandle(uint16(i+16), 0)}
			err = netlink.QdiscAdd(queue(p, at))
		}
		if err == nil {
			err = netlink.FilterAdd(&netlink.U32{
				FilterAttrs: netlink.FilterAttrs{LinkIndex: link, Parent: rootHandle, Priority: 1, Protocol: unix.ETH_P_IP},
				ClassId:     class,
				Sel: &netlink.TcU32Sel{Flags: nl.TC_U32_TERMINAL, Nkeys: 1,
					Keys: []netlink.TcU32Key{{Mask: 0xffffffff, Val: binary.BigEndian.Uint32(p.AsSlice()), Off: 16}}},
			})
		}
		if err != nil {
			err = asUnsupported(fmt.Errorf("delay packets to %v, to which no relay leads: %w", p, err), agent.CapNetem)
			if derr := netlink.QdiscDel(root); derr != nil {
				err = fmt.Errorf("%w; delete qdisc: %w", err, derr)
			}
			return err
		}
	}
	return nil
}

func linkOf(index int) netlink.Link {
	return &netlink.Device{LinkAttrs: netlink.LinkAttrs{Index: index}}
}
