package netns

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"locklab/ensembles"
	"locklab/ensembles/agent"
)

// A host is what the host process is told about itself.
type host struct {
	Name    string                `json:"name"`
	Address netip.Addr            `json:"address"`
	Names   map[string]netip.Addr `json:"names"` // of all hosts of the lab
	Env     map[string]string     `json:"env"`   // of the agent
	Files   []ensembles.File      `json:"files,omitempty"`
	Disk    bool                  `json:"disk,omitempty"`
	Homes   []string              `json:"homes,omitempty"` // directories of versions of ZooKeeper

	// The lab process adds these.
	Lab     string `json:"lab,omitempty"`
	Dir     string `json:"dir,omitempty"` // for the data, if the host has a disk
	Binary  string `json:"binary,omitempty"`
	Publish bool   `json:"publish,omitempty"` // the host has a second socket
}

// linkName is a host's end of its link to the bridge, as in a container.
const linkName = "eth0"

// RunHost is the host process. It sets up the namespaces in which it was started, and becomes the host's agent. It
// returns only with an error.
func RunHost(in io.Reader) error {
	// The description arrives when the lab process has made the link.
	var h host
	if err := json.NewDecoder(in).Decode(&h); err != nil {
		return fmt.Errorf("netns-host: %w; host processes are started by a run, not by hand", err)
	}
	if err := h.setUp(); err != nil {
		return fmt.Errorf("host %s: %w", h.Name, err)
	}
	return h.become()
}

func (h *host) setUp() error {
	if err := unix.Sethostname([]byte(h.Name)); err != nil {
		return fmt.Errorf("set the host's name: %w", err)
	}
	if err := h.configureLinks(); err != nil {
		return fmt.Errorf("configure the network: %w", err)
	}
	return h.enterRoot()
}

func (h *host) configureLinks() error {
	for _, name := range []string{"lo", linkName} {
		l, err := netlink.LinkByName(name)
		if err != nil {
			return err
		}
		if name == linkName {
			own := &net.IPNet{IP: h.Address.AsSlice(), Mask: net.CIDRMask(network.Bits(), h.Address.BitLen())}
			if err := netlink.AddrAdd(l, &netlink.Addr{IPNet: own}); err != nil {
				return err
			}
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) become() error {
	env := os.Environ()
	for name, value := range h.Env {
		env = append(env, name+"="+value)
	}
	// The lab process passes these sockets on in this order.
	env = append(env, fmt.Sprintf("%s=%d", agent.EnvControl, inherited))
	if h.Publish {
		env = append(env, fmt.Sprintf("%s=%d", agent.EnvPublished, inherited+1))
	}
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/dev/null: %w", err)
	}
	if err := unix.Dup2(null, 0); err != nil { // standard input is the lab process's pipe
		return err
	}
	// Capabilities belong to a thread, and the one that calls exec is the one that remains.
	runtime.LockOSThread()
	if err := keepOnly(unix.CAP_NET_ADMIN); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	return fmt.Errorf("become the agent: %w", syscall.Exec(binaryPath, []string{program(h.Lab), "agent"}, env))
}

// keepOnly gives up all capabilities but one, for this thread and everything that it executes.
func keepOnly(keep uintptr) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if c == keep {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EINVAL) { // the kernel may have fewer than this program knows
			return err
		}
	}
	return nil
}

// hostsFile returns the host's /etc/hosts.
func (h *host) hostsFile() string {
	var b strings.Builder
	fmt.Fprintln(&b, "127.0.0.1\tlocalhost")
	for name, a := range h.Names {
		fmt.Fprintf(&b, "%s\t%s\n", a, name)
	}
	return b.String()
}
