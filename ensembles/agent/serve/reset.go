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

// connections lists this host's established TCP connections with the peers.
func connections(peers []netip.Addr) ([]*net.TCPAddr, []*net.TCPAddr, error) {
	var local, remote []*net.TCPAddr
	// Java may talk IPv4 over an IPv6 socket.
	for _, family := range []uint8{syscall.AF_INET, syscall.AF_INET6} {
		all, err := netlink.SocketDiagTCP(family)
		if err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return nil, nil, fmt.Errorf("list connections: %w", err)
		}
		for _, s := range all {
			to, ok := netip.AddrFromSlice(s.ID.Destination)
			if ok && s.State == netlink.TCP_ESTABLISHED && slices.Contains(peers, to.Unmap()) {
				local = append(local, &net.TCPAddr{IP: s.ID.Source, Port: int(s.ID.SourcePort)})
				remote = append(remote, &net.TCPAddr{IP: s.ID.Destination, Port: int(s.ID.DestinationPort)})
			}
		}
	}
	return local, remote, nil
}

// established lists this host's established TCP connections with the peers, as text.
func established(rec *history.Recorder, peers []netip.Addr) (agent.Connections, error) {
	local, remote, err := connections(peers)
	if err != nil {
		return agent.Connections{}, err
	}
	all := agent.Connections{Stamp: agent.Stamp{At: rec.Clock().Now()}, Open: []string{}}
	for i := range local {
		all.Open = append(all.Open, local[i].String()+" "+remote[i].String())
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
	local, remote, err := connections(peers)
	if err != nil {
		return agent.Connections{}, err
	}
	done := agent.Connections{Open: []string{}}
	for i := range local {
		// A connection that ended by itself meanwhile was not reset.
		err := netlink.SocketDestroy(local[i], remote[i])
		if errors.Is(err, syscall.ENOENT) {
			continue
		}
		if err != nil {
			return done, asUnsupported(fmt.Errorf("reset %v: %w", remote[i], err), agent.CapDestroy)
		}
		done.Open = append(done.Open, local[i].String()+" "+remote[i].String())
	}
	slices.Sort(done.Open)
	done.At = rec.Clock().Now()
	e := history.NetworkChange{
		State: history.NetworkReset, Peers: fmt.Sprint(peers), Connections: len(done.Open),
	}.Event()
	e.At = done.At
	return done, rec.Record(e)
}
