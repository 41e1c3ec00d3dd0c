package serve

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"locklab/ensembles/agent"
)

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
