package labtest

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/vishvananda/netlink"
)

// docked are the entries of a machine with one lab's network.
func docked() []entry {
	lab := []string{"br-lab"}
	return []entry{
		{text: "interface eth0", interfaces: []string{"eth0"}},
		{text: "interface br-lab", interfaces: lab, usual: true},
		{text: "interface veth1", interfaces: []string{"veth1", "br-lab"}, usual: true},
		{text: "rule FORWARD accept br-lab", interfaces: lab, usual: true},
		{text: "rule FORWARD accept br-lab", interfaces: lab, usual: true},
		{text: "rule POSTROUTING masquerade", addresses: []netip.Addr{netip.MustParseAddr("10.1.2.10")}, usual: true},
		{text: "rule INPUT drop"},
	}
}

// labNetwork is the network of one lab, as the engine describes it.
func labNetwork() dockerNetwork {
	n := dockerNetwork{Options: map[string]string{"com.docker.network.bridge.name": "br-lab"}}
	n.IPAM.Config = append(n.IPAM.Config, struct{ Subnet netip.Prefix }{netip.MustParsePrefix("10.1.2.0/24")})
	return n
}

func machine(entries []entry, processes ...process) *Machine {
	return &Machine{network: entries, docker: []dockerNetwork{labNetwork()}, processes: processes}
}

// What Docker makes for a network is not a change of the machine. Anything else is.
func TestChangesOfAMachine(t *testing.T) {
	daemon := process{id: "7 daemon", state: "stopped false", text: "daemon"}
	before := machine([]entry{docked()[0], docked()[6]}, daemon)
	idle := machine(docked(), daemon)
	with := func(text string, usual bool, interfaces ...string) *Machine {
		return machine(append(docked(), entry{text: text, interfaces: interfaces, usual: usual}), daemon)
	}
	started := func(processes ...process) *Machine { return machine(docked(), processes...) }
	namespace := *idle
	namespace.namespaces = []string{"0123"}
	for _, c := range []struct {
		name string
		now  *Machine
		// machine and network are the changes of the machine and of the lab's network.
		machine, network []string
		mark             string
	}{
		{name: "the lab's network", now: idle},
		{name: "a rule of the host's own", now: with("rule OUTPUT drop", false), machine: []string{"+ rule OUTPUT drop"}},
		{name: "a rule about the lab's bridge that Docker does not make",
			now:     with("rule FORWARD drop br-lab", false, "br-lab"),
			machine: []string{"+ rule FORWARD drop br-lab"}, network: []string{"+ rule FORWARD drop br-lab"}},
		{name: "a rule that Docker makes, once more", now: with("rule FORWARD accept br-lab", true, "br-lab"),
			network: []string{"+ rule FORWARD accept br-lab"}},
		{name: "a rule of Docker's missing", now: machine(slices.Delete(docked(), 3, 4), daemon),
			network: []string{"- rule FORWARD accept br-lab"}},
		{name: "a rule of the host's own missing", now: machine(docked()[:6], daemon),
			machine: []string{"- rule INPUT drop"}},
		{name: "an interface", now: with("interface dummy0", true, "dummy0"),
			machine: []string{"+ interface dummy0"}},
		{name: "an interface of a removed network", now: with("interface veth9", true, "veth9", "br-gone"),
			machine: []string{"+ interface veth9"}},
		{name: "a delay on the lab's link", now: with("queue of veth1: netem", false, "veth1", "br-lab"),
			machine: []string{"+ queue of veth1: netem"}, network: []string{"+ queue of veth1: netem"}},
		{name: "a process stopped", now: started(process{id: "7 daemon", state: "stopped true"}),
			machine: []string{"! process 7 daemon: stopped true, was stopped false"}},
		{name: "a process left", now: started(daemon, process{id: "8 proxy", text: "proxy 0123"}), mark: "0123",
			machine: []string{"+ process 8 proxy: proxy 0123"}},
		{name: "a child left", now: started(daemon, process{id: "8 child", text: "child", parent: os.Getpid()}),
			machine: []string{"+ process 8 child: child"}},
		{name: "a process of others", now: started(process{id: "9 other", text: "other"})},
		{name: "a namespace", now: &namespace, machine: []string{"+ namespace 0123"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.machine, c.now.Changes(before, c.mark)); diff != "" {
				t.Errorf("changes of the machine (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.network, c.now.ChangesOf("br-lab", idle)); diff != "" {
				t.Errorf("changes of the lab's network (-want +got):\n%s", diff)
			}
		})
	}
}

// envInside is set where the test runs in a network namespace of its own.
const envInside = "LOCKLAB_TEST_INSIDE"

// Rules, interfaces, addresses and routes that are added in a real kernel are read from it.
func TestForeignThingsAreRead(t *testing.T) {
	if os.Getenv(envInside) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), envInside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if cmd.Process == nil {
			t.Skipf("needs user namespaces: %v", err)
		}
		if err != nil {
			t.Error(err)
		}
		return
	}
	read := func() *Machine {
		t.Helper()
		all, err := readNetwork()
		if err != nil {
			t.Fatal(err)
		}
		return machine(all)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// wants takes a step and checks which changes it makes to the machine and to the lab's network.
	wants := func(name string, step func(), ofMachine, ofNetwork []string) {
		t.Helper()
		before := read()
		step()
		now := read()
		check := func(what string, got, want []string) {
			t.Helper()
			if !slices.EqualFunc(got, want, strings.HasPrefix) {
				t.Errorf("%s: changes of the %s are\n%s\nwant\n%s",
					name, what, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		check("machine", now.Changes(before), ofMachine)
		check("network", now.ChangesOf("br-lab", before), ofNetwork)
	}
	c, err := nftables.New()
	must(err)
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: "filter"}
	forward := &nftables.Chain{Name: "FORWARD", Table: table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter}
	about := func(bridge string, verdict expr.VerdictKind) []expr.Any {
		name := append([]byte(bridge), make([]byte, 16-len(bridge))...)
		return []expr.Any{&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1}, &expr.Cmp{Register: 1, Data: name},
			&expr.Counter{}, &expr.Verdict{Kind: verdict}}
	}
	from := func(a, b, c, d byte) []expr.Any {
		return []expr.Any{&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: 12, Len: 4},
			&expr.Cmp{Register: 1, Data: []byte{a, b, c, d}}, &expr.Verdict{Kind: expr.VerdictAccept}}
	}
	rule := func(exprs ...expr.Any) func() {
		return func() {
			c.AddRule(&nftables.Rule{Table: table, Chain: forward, Exprs: exprs})
			must(c.Flush())
		}
	}
	ruleAdded := []string{"+ rule 2 filter FORWARD"}
	wants("chain", func() { c.AddTable(table); c.AddChain(forward); must(c.Flush()) },
		[]string{"+ chain 2 filter FORWARD", "+ table 2 filter"}, nil)
	wants("Docker's rule", rule(about("br-lab", expr.VerdictAccept)...), nil, ruleAdded)
	wants("Docker's rule about an address of the lab", rule(from(10, 1, 2, 10)...), nil, ruleAdded)
	wants("foreign rule", rule(about("eth0", expr.VerdictDrop)...), ruleAdded, nil)
	wants("foreign rule about an address", rule(from(10, 1, 3, 10)...), ruleAdded, nil)
	wants("foreign rule about the lab", rule(about("br-lab", expr.VerdictDrop)...), ruleAdded, ruleAdded)
	wants("policy", func() {
		drop := nftables.ChainPolicyDrop
		forward.Policy = &drop
		c.AddChain(forward)
		must(c.Flush())
	}, []string{"+ chain 2 filter FORWARD, policy 0", "- chain 2 filter FORWARD, policy 1"}, nil)

	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br-lab"}}
	wants("the lab's bridge", func() { must(netlink.LinkAdd(bridge)) }, nil, []string{"+ interface br-lab"})
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "veth1", MasterIndex: bridge.Index}, PeerName: "peer1"}
	must(netlink.LinkAdd(veth))
	wants("foreign interfaces", func() {
		must(netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "foreign0"}, PeerName: "foreign1"}))
	}, []string{"+ interface foreign0", "+ interface foreign1"}, nil)
	foreign, err := netlink.LinkByName("foreign0")
	must(err)
	wants("address", func() {
		ip := &net.IPNet{IP: net.IPv4(10, 9, 9, 1), Mask: net.CIDRMask(32, 32)}
		must(netlink.AddrAdd(foreign, &netlink.Addr{IPNet: ip}))
	}, []string{"+ address 10.9.9.1/32 on foreign0", "+ route 10.9.9.1/32"}, nil)
	wants("the lab's interface", func() { must(netlink.LinkSetMTU(veth, 1400)) }, nil,
		[]string{"+ interface br-lab", "- interface br-lab", "+ interface veth1", "- interface veth1"})
}

// A child process is read as new, as unchanged, and as stopped.
func TestProcessesAreRead(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(sleep, "1h")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	of := func() []process {
		all, err := readProcesses()
		if err != nil {
			t.Fatal(err)
		}
		id := fmt.Sprintf("%d sleep ", cmd.Process.Pid)
		return slices.DeleteFunc(all, func(p process) bool { return !strings.HasPrefix(p.id, id) })
	}
	before := of()
	// Start returns in the middle of exec(2): for an instant the process has no command line.
	end := time.Now().Add(10 * time.Second)
	for len(before) == 1 && !strings.Contains(before[0].text, " 1h") && time.Now().Before(end) {
		time.Sleep(time.Millisecond)
		before = of()
	}
	if len(before) != 1 || !strings.Contains(before[0].text, filepath.Base(sleep)+" 1h") {
		t.Fatalf("read: %+v", before)
	}
	if got := processChanges(before, of(), nil); got != nil {
		t.Errorf("changes before anything has happened: %v", got)
	}
	if got := processChanges(nil, of(), nil); len(got) != 1 {
		t.Errorf("a new child: %v", got)
	}
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("not stopped: %v, %v", status, err)
	}
	if got := processChanges(before, of(), nil); len(got) != 1 || !strings.Contains(got[0], "stopped true") {
		t.Errorf("stopped: %v", got)
	}
}

// A namespace that Docker keeps mounted is empty if no process is in it.
func TestEmptyNamespaces(t *testing.T) {
	const mounts = "30 1 254:0 / / rw - ext4 /dev/vda rw\n" +
		"90 30 0:4 net:[4026532281] /run/docker/netns/aaaa rw shared:1 - nsfs nsfs rw\n" +
		"91 30 0:4 net:[4026532382] /run/docker/netns/bbbb rw shared:2 - nsfs nsfs rw\n" +
		"92 30 0:4 net:[4026532483] /run/netns/foreign rw - nsfs nsfs rw\n"
	processes := []process{{id: "1", network: "net:[4026531840]"}, {id: "2", network: "net:[4026532281]"}, {id: "3"}}
	got := emptyNamespaces(mounts, processes)
	if diff := cmp.Diff([]string{"bbbb net:[4026532382]"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
