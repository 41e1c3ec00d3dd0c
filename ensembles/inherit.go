package ensembles

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Environ returns the variables of this process's environment with those names, for a child that is to have no others.
func Environ(names ...string) []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(names, name)
	})
}

// ListenFile opens a socket that listens on an address, for a child to inherit. The caller closes the file.
func ListenFile(ctx context.Context, on netip.Addr) (*os.File, netip.AddrPort, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp4", netip.AddrPortFrom(on, 0).String())
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	return f, l.Addr().(*net.TCPAddr).AddrPort(), nil
}
