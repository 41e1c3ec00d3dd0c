package serve

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/vishvananda/netlink"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// A connection is an established TCP connection of this host.
type connection struct{ local, remote *net.TCPAddr }

func (c connection) String() string { return c.local.String() + " " + c.remote.String() }

// connections lists this host's established TCP connections with the peers.
func connections(peers []netip.Addr) ([]connection, error) {
	var found []connection
	// Java may talk IPv4 over an IPv6 socket.
	for _, family := range []uint8{syscall.AF_INET, syscall.AF_INET6} {
		all, err := netlink.SocketDiagTCP(family)
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, fmt.Errorf("list connections: %w", err)
		}
		for _, s := range all {
			to, ok := netip.AddrFromSlice(s.ID.Destination)
			if ok && s.State == netlink.TCP_ESTABLISHED && slices.Contains(peers, to.Unmap()) {
				found = append(found, connection{&net.TCPAddr{IP: s.ID.Source, Port: int(s.ID.SourcePort)},
					&net.TCPAddr{IP: s.ID.Destination, Port: int(s.ID.DestinationPort)}})
			}
		}
	}
	return found, nil
}

// established lists this host's established TCP connections with the peers, as text.
func established(rec *history.Recorder, peers []netip.Addr) (agent.Connections, error) {
	found, err := connections(peers)
	if err != nil {
		return agent.Connections{}, err
	}
	all := agent.Connections{Stamp: agent.Stamp{At: rec.Clock().Now()}, Open: []string{}}
	for _, c := range found {
		all.Open = append(all.Open, c.String())
	}
	slices.Sort(all.Open)
	return all, nil
}

// reset ends the connections with the peers as if each side had received a reset from the other, and returns those that
// it ended.
func reset(rec *history.Recorder, peers []netip.Addr) (agent.Connections, error) {
	if len(peers) == 0 {
		return agent.Connections{}, errors.New("reset: peers are required")
	}
	if err := validPeers("reset", peers); err != nil {
		return agent.Connections{}, err
	}
	found, err := connections(peers)
	if err != nil {
		return agent.Connections{}, err
	}
	done := agent.Connections{Open: []string{}}
	for _, c := range found {
		// A connection that ended by itself meanwhile was not reset.
		err := netlink.SocketDestroy(c.local, c.remote)
		if errors.Is(err, syscall.ENOENT) {
			continue
		}
		if err != nil {
			return done, asUnsupported(fmt.Errorf("reset %v: %w", c.remote, err), agent.CapDestroy)
		}
		done.Open = append(done.Open, c.String())
	}
	slices.Sort(done.Open)
	done.At = rec.Clock().Now()
	e := history.NetworkChange{
		State: history.NetworkReset, Peers: fmt.Sprint(peers), Connections: len(done.Open),
	}.Event()
	e.At = done.At
	return done, rec.Record(e)
}
