package labtest

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A Machine is what a lab must leave as it is: the host's own network and processes, read from the kernel.
type Machine struct {
	network   []entry
	processes []process
	// namespaces are the network namespaces that Docker keeps although no process is in them.
	namespaces []string
	// docker are the networks that the engine had while the kernel was read.
	docker []dockerNetwork
}

// An entry is an interface, an address, a route, a queueing discipline, a table, a chain or a rule of the host.
type entry struct {
	text string
	// interfaces lists the interface that the entry is or belongs to and those that it names; addresses lists the
	// addresses that it names.
	interfaces []string
	addresses  []netip.Addr
	// usual says that Docker makes such an entry for each of its networks.
	usual bool
}

// bridge returns the bridge of the Docker network to which an entry belongs; "" means that the entry is the host's own.
func (m *Machine) bridge(e entry) string {
	for _, n := range m.docker {
		if slices.Contains(e.interfaces, n.bridge()) || slices.ContainsFunc(e.addresses, n.contains) {
			return n.bridge()
		}
	}
	return ""
}

// Changes lists what the host has gained and lost since before. It leaves out what Docker makes for networks and
// removes with them. A mark is a text, such as a container's id, that identifies a lab's processes.
func (m *Machine) Changes(before *Machine, marks ...string) []string {
	all := differences(before, m, func(m *Machine, e entry) bool { return !e.usual || m.bridge(e) == "" })
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
	return differences(before, m, func(m *Machine, e entry) bool { return m.bridge(e) == bridge })
}

// differences lists the chosen entries that one machine has more often than the other.
func differences(before, now *Machine, chosen func(*Machine, entry) bool) []string {
	count := map[string]int{}
	add := func(m *Machine, n int) {
		for _, e := range m.network {
			if chosen(m, e) {
				count[e.text] += n
			}
		}
	}
	add(before, -1)
	add(now, 1)
	var all []string
	for text, n := range count {
		all = append(all, slices.Repeat([]string{"+ " + text}, max(n, 0))...)
		all = append(all, slices.Repeat([]string{"- " + text}, max(-n, 0))...)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return all
}

// errNoAccess says that the host's network cannot be read.
var errNoAccess = errors.New("the host's network cannot be read here")

// LookAtMachine reads the host's network and processes, and changes nothing. It skips the test if it may not read them.
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

func look(ctx context.Context) (*Machine, error) {
	// A network that comes or goes while the kernel is read is Docker's as well.
	early, err := bridges(ctx)
	if err != nil {
		return nil, err
	}
	m := &Machine{}
	if m.network, err = readNetwork(); err != nil {
		return nil, err
	}
	late, err := bridges(ctx)
	if err != nil {
		return nil, err
	}
	m.docker = append(early, late...)
	if m.processes, err = readProcesses(); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 { // nobody else can read the namespaces of containers' processes
		mounts, err := os.ReadFile("/proc/self/mountinfo")
		if err != nil {
			return nil, err
		}
		m.namespaces = emptyNamespaces(string(mounts), m.processes)
	}
	return m, nil
}

// AwaitSameMachine reports an error unless the machine is as it was, apart from Docker's networks.
func AwaitSameMachine(t testing.TB, before *Machine, marks ...string) {
	t.Helper()
	awaitNone(t, func(m *Machine) []string { return m.Changes(before, marks...) })
}

// AwaitSameNetwork reports an error unless the machine is as it was before a lab was made, and what Docker made for the
// lab's network is as it was when the lab was idle. The processes of the idle lab are no change.
func AwaitSameNetwork(t testing.TB, before, idle *Machine, bridge string) {
	t.Helper()
	usual := processChanges(before.processes, idle.processes, nil)
	awaitNone(t, func(m *Machine) []string {
		all := append(m.Changes(before), m.ChangesOf(bridge, idle)...)
		return slices.DeleteFunc(all, func(c string) bool { return slices.Contains(usual, c) })
	})
}

// settleCap is how long other programs on the machine may take to finish a change. Every fault in a test lasts
// longer.
const settleCap = 2 * time.Second

// awaitNone reports the changes that last. A network that another program is making appears as a change for a moment.
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
