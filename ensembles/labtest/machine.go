package labtest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Machine is what a lab must leave as it is: the host's own network and processes, read from the kernel.
type Machine struct {
	network   []entry
	processes []process
	// namespaces are Docker's network namespaces of containers that are not running, by name.
	namespaces []string
}

// An entry is an interface, an address, a route, a queueing discipline, a table, a chain or a rule of the host.
type entry struct {
	text string
	// of is the bridge of the Docker network that it belongs to, "" = none: the host's own.
	of string
	// usual says that Docker makes the like for a network.
	usual bool
}

// A dockerNetwork is one that the engine knows.
type dockerNetwork struct {
	lab    string // whose it is, "" = not ours
	bridge string
	subnet netip.Prefix
}

// Changes lists what the host has that it had not before, and the other way round, beyond what Docker makes
// for networks and removes with them. marks are texts by which processes of labs are known, such as ids of containers.
func (m *Machine) Changes(before *Machine, marks ...string) []string {
	all := differences(own(before.network), own(m.network))
	all = append(all, processChanges(before.processes, m.processes, marks)...)
	for _, n := range m.namespaces {
		if !slices.Contains(before.namespaces, n) {
			all = append(all, "+ namespace "+n)
		}
	}
	return all
}

// ChangesOf lists what changed in what Docker made for the network with that bridge.
func (m *Machine) ChangesOf(bridge string, before *Machine) []string {
	of := func(all []entry) []string {
		var texts []string
		for _, e := range all {
			if e.of == bridge {
				texts = append(texts, e.text)
			}
		}
		return texts
	}
	return differences(of(before.network), of(m.network))
}

// own are the entries that are not Docker's: of no network of its, or such as it does not make.
func own(all []entry) []string {
	var texts []string
	for _, e := range all {
		if e.of == "" || !e.usual {
			texts = append(texts, e.text)
		}
	}
	return texts
}

// differences lists what is in only one of two lists, which may have equal texts several times.
func differences(before, now []string) []string {
	count := map[string]int{}
	for _, t := range before {
		count[t]--
	}
	for _, t := range now {
		count[t]++
	}
	var all []string
	for t, n := range count {
		for ; n > 0; n-- {
			all = append(all, "+ "+t)
		}
		for ; n < 0; n++ {
			all = append(all, "- "+t)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return all
}

// LookAtMachine reads the host's network and processes, and changes nothing. Where it is not allowed to, the test is skipped.
func LookAtMachine(t testing.TB) *Machine {
	t.Helper()
	m, err := look(t.Context())
	if errors.Is(err, errNoAccess) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// errNoAccess says that the host's network cannot be read.
var errNoAccess = errors.New("the host's network cannot be read here")

func look(ctx context.Context) (*Machine, error) {
	// A network that comes or goes meanwhile is Docker's as well.
	networks, err := dockerNetworks(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := readNetwork()
	if err != nil {
		return nil, err
	}
	later, err := dockerNetworks(ctx)
	if err != nil {
		return nil, err
	}
	m := &Machine{network: attribute(raw, append(networks, later...))}
	if m.processes, err = readProcesses(); err != nil {
		return nil, err
	}
	m.namespaces, err = abandonedNamespaces(ctx)
	return m, err
}

// settleCap is what others on the machine may take over what they are in the middle of. It is shorter than any
// harm in a test lasts.
const settleCap = 2 * time.Second

// AwaitSameMachine holds that the machine is as it was, but for Docker's networks.
func AwaitSameMachine(t testing.TB, before *Machine, marks ...string) {
	t.Helper()
	awaitNone(t, func(m *Machine) []string { return m.Changes(before, marks...) })
}

// AwaitSameNetwork holds that the machine is as it was before a lab was made, and what Docker made for the
// lab's network as it was when idle.
func AwaitSameNetwork(t testing.TB, before, idle *Machine, bridge string, marks ...string) {
	t.Helper()
	awaitNone(t, func(m *Machine) []string {
		return append(m.Changes(before, marks...), m.ChangesOf(bridge, idle)...)
	})
}

// awaitNone waits until each change has been seen to be none that lasts: others' networks are in the making for a moment.
func awaitNone(t testing.TB, changes func(*Machine) []string) {
	t.Helper()
	limit := time.Now().Add(settleCap)
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	last := changes(LookAtMachine(t))
	for len(last) > 0 && time.Now().Before(limit) {
		<-poll.C
		now := changes(LookAtMachine(t))
		last = slices.DeleteFunc(last, func(c string) bool { return !slices.Contains(now, c) })
	}
	if len(last) > 0 {
		t.Errorf("the host changed:\n%s", strings.Join(last, "\n"))
	}
}

// Bridge is the interface on the host that Docker made for a lab's network.
func Bridge(t testing.TB, lab string) string {
	t.Helper()
	networks, err := dockerNetworks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(networks, func(n dockerNetwork) bool { return n.lab == lab })
	if i < 0 {
		t.Fatalf("lab %s has no network", lab)
	}
	return networks[i].bridge
}

func dockerNetworks(ctx context.Context) ([]dockerNetwork, error) {
	var networks []struct {
		Id, Driver string
		Labels     map[string]string
		Options    map[string]string
		IPAM       struct{ Config []struct{ Subnet string } }
	}
	if err := ask(ctx, "/networks", &networks); err != nil {
		return nil, err
	}
	var all []dockerNetwork
	for _, n := range networks {
		if n.Driver != "bridge" || len(n.Id) < 12 {
			continue
		}
		d := dockerNetwork{lab: n.Labels["locklab.lab"], bridge: n.Options["com.docker.network.bridge.name"]}
		if d.bridge == "" {
			d.bridge = "br-" + n.Id[:12]
		}
		for _, c := range n.IPAM.Config {
			if p, err := netip.ParsePrefix(c.Subnet); err == nil && p.Addr().Is4() {
				d.subnet = p
			}
		}
		if !d.subnet.IsValid() {
			return nil, fmt.Errorf("network %s has no IPv4 subnet: %v", n.Id, n.IPAM.Config)
		}
		all = append(all, d)
	}
	return all, nil
}
