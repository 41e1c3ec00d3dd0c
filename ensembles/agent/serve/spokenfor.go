package serve

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"locklab/ensembles/agent"
)

// serverHere returns the process of this host's machine that listens at the address of a server elsewhere. away says
// that the address is another machine's. Neither is known if the process is another user's, or in a namespace.
func serverHere(ctx context.Context, server string) (pid int, away bool) {
	host, text, err := net.SplitHostPort(server)
	if err != nil {
		return 0, false
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, false
	}
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return 0, false
	}
	if away = !slices.ContainsFunc(addresses, ofThisMachine); away {
		return 0, true
	}
	for _, table := range [...]string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		inode := listenerIn(bufio.NewScanner(f), addresses, uint16(port))
		f.Close()
		if inode != "" {
			return ownerOf(inode), false
		}
	}
	return 0, false
}

// ofThisMachine reports whether an address is one of the machine's own.
func ofThisMachine(a netip.Addr) bool {
	if a = a.Unmap(); a.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(own, func(o net.Addr) bool {
		n, ok := o.(*net.IPNet)
		return ok && n.IP.Equal(a.AsSlice())
	})
}

// listenerIn returns the inode of the socket that listens at a port of one of the addresses, or of all addresses, in a
// table of the kernel; empty if there is none.
func listenerIn(table *bufio.Scanner, addresses []netip.Addr, port uint16) string {
	for table.Scan() {
		// sl local remote st tx:rx tr:tm retransmits uid timeout inode; 0A is a listener.
		fields := strings.Fields(table.Text())
		if len(fields) < 10 || fields[3] != "0A" {
			continue
		}
		at, ok := kernelAddress(fields[1])
		if ok && at.Port() == port && (at.Addr().IsUnspecified() || slices.ContainsFunc(addresses,
			func(a netip.Addr) bool { return a.Unmap() == at.Addr() })) {
			return fields[9]
		}
	}
	return ""
}

// kernelAddress reads an address as the kernel writes it in hexadecimal, each four bytes in the order of the machine,
// which is little-endian wherever locklab runs.
func kernelAddress(text string) (netip.AddrPort, bool) {
	digits, portText, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(digits)
	port, perr := strconv.ParseUint(portText, 16, 16)
	if err != nil || perr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(b, 4) {
		slices.Reverse(word)
	}
	a, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a.Unmap(), uint16(port)), ok
}

// ownerOf returns the process that has a socket open; 0 if none is seen.
func ownerOf(inode string) int {
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // only a malformed pattern is an error
	for _, name := range files {
		if to, err := os.Readlink(name); err != nil || to != "socket:["+inode+"]" {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(name, "/proc/%d/", &pid); err == nil {
			return pid
		}
	}
	return 0
}

// spokenFor answers how much of the processors the server elsewhere has used that the agent speaks for.
func (a *server) spokenFor(ctx context.Context) (agent.ProcessorTime, error) {
	return ServerTime(ctx, a.cfg.Elsewhere.Server)
}

// ServerTime returns how much of the processors the process has used that listens at host:port, if it is seen.
func ServerTime(ctx context.Context, address string) (agent.ProcessorTime, error) {
	pid, away := serverHere(ctx, address)
	if pid == 0 {
		return agent.ProcessorTime{Away: away}, nil
	}
	used, err := timeOf(pid)
	return agent.ProcessorTime{PID: pid, Used: used}, err
}
