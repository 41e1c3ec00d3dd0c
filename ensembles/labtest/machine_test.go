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

// plain is a machine with one lab's network, as found.
func plain() []found {
	return []found{
		{text: "interface eth0", interfaces: []string{"eth0"}},
		{text: "interface br-lab", interfaces: []string{"br-lab"}, usual: true},
		{text: "interface veth1", interfaces: []string{"veth1", "br-lab"}, usual: true},
		{text: "rule FORWARD accept br-lab", interfaces: []string{"br-lab"}, usual: true},
		{text: "rule FORWARD accept br-lab", interfaces: []string{"br-lab"}, usual: true},
		{text: "rule POSTROUTING masquerade", addresses: []netip.Addr{netip.MustParseAddr("10.1.2.10")}, usual: true},
		{text: "rule INPUT drop"},
	}
}

func machine(found []found, processes ...process) *Machine {
	return &Machine{network: attribute(found, []dockerNetwork{{lab: "a", bridge: "br-lab", subnet: netip.MustParsePrefix("10.1.2.0/24")}}), processes: processes}
}

// What Docker makes for a network is no change, in it coming and going; anything else is.
func TestChangesOfAMachine(t *testing.T) {
	hosts := func() []found { return []found{plain()[0], plain()[6]} }
	daemon := process{id: "7 daemon", state: "stopped false", text: "daemon"}
	before := machine(hosts(), daemon)
	idle := machine(plain(), daemon)
	for _, c := range []struct {
		name   string
		now    *Machine
		whole  []string
		of     []string
		marked string
	}{
		{name: "the lab's network", now: idle},
		{name: "a rule of the host's", now: machine(append(plain(), found{text: "rule OUTPUT drop"}), daemon), whole: []string{"+ rule OUTPUT drop"}},
		{name: "a rule about the lab's bridge that Docker does not make", now: machine(append(plain(), found{text: "rule FORWARD drop br-lab", interfaces: []string{"br-lab"}}), daemon),
			whole: []string{"+ rule FORWARD drop br-lab"}, of: []string{"+ rule FORWARD drop br-lab"}},
		{name: "one such as Docker makes", now: machine(append(plain(), plain()[3]), daemon), of: []string{"+ rule FORWARD accept br-lab"}},
		{name: "one of Docker's missing", now: machine(slices.Delete(plain(), 3, 4), daemon), of: []string{"- rule FORWARD accept br-lab"}},
		{name: "one of the host's missing", now: machine(plain()[:6], daemon), whole: []string{"- rule INPUT drop"}},
		{name: "an interface", now: machine(append(plain(), found{text: "interface dummy0", interfaces: []string{"dummy0"}, usual: true}), daemon), whole: []string{"+ interface dummy0"}},
		{name: "another network's interface", now: machine(append(plain(), found{text: "interface veth9", interfaces: []string{"veth9", "br-gone"}, usual: true}), daemon), whole: []string{"+ interface veth9"}},
		{name: "a delay on the lab's link", now: machine(append(plain(), found{text: "queue of veth1: netem", interfaces: []string{"veth1", "br-lab"}}), daemon),
			whole: []string{"+ queue of veth1: netem"}, of: []string{"+ queue of veth1: netem"}},
		{name: "a process stopped", now: machine(plain(), process{id: "7 daemon", state: "stopped true"}), whole: []string{"! process 7 daemon: stopped true, was stopped false"}},
		{name: "a process left", now: machine(plain(), daemon, process{id: "8 proxy", text: "proxy 0123"}), whole: []string{"+ process 8 proxy: proxy 0123"}, marked: "0123"},
		{name: "a child left", now: machine(plain(), daemon, process{id: "8 child", text: "child", parent: os.Getpid()}), whole: []string{"+ process 8 child: child"}},
		{name: "others' processes", now: machine(plain(), process{id: "9 other", text: "other"})},
		{name: "a namespace", now: &Machine{network: idle.network, namespaces: []string{"0123"}}, whole: []string{"+ namespace 0123"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.whole, c.now.Changes(before, c.marked)); diff != "" {
				t.Errorf("of the machine (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.of, c.now.ChangesOf("br-lab", idle)); diff != "" {
				t.Errorf("of the lab's network (-want +got):\n%s", diff)
			}
		})
	}
}

// envInside is set where the test runs in a network namespace of its own.
const envInside = "LOCKLAB_TEST_INSIDE"

// What is planted in a real kernel is read from it: rules, an interface, an address, a route, a delay.
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
	networks := []dockerNetwork{{bridge: "br-lab", subnet: netip.MustParsePrefix("10.1.2.0/24")}}
	read := func() *Machine {
		t.Helper()
		all, err := readNetwork()
		if err != nil {
			t.Fatal(err)
		}
		return &Machine{network: attribute(all, networks)}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// wants takes a step and says which changes it makes in all, and in the lab's network.
	wants := func(name string, step func(), whole, of []string) {
		t.Helper()
		before := read()
		step()
		now := read()
		for what, c := range map[string][2][]string{"machine": {now.Changes(before), whole}, "network": {now.ChangesOf("br-lab", before), of}} {
			got, want := c[0], c[1]
			matches := len(got) == len(want)
			for i := 0; matches && i < len(got); i++ {
				matches = strings.HasPrefix(got[i], want[i])
			}
			if !matches {
				t.Errorf("%s: changes of the %s are\n%s\nwant\n%s", name, what, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	c, err := nftables.New()
	must(err)
	table := &nftables.Table{Family: nftables.TableFamilyIPv4, Name: "filter"}
	forward := &nftables.Chain{Name: "FORWARD", Table: table, Type: nftables.ChainTypeFilter, Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter}
	about := func(bridge string, verdict expr.VerdictKind) []expr.Any {
		return []expr.Any{&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1}, &expr.Cmp{Register: 1, Data: append([]byte(bridge), make([]byte, 16-len(bridge))...)}, &expr.Counter{}, &expr.Verdict{Kind: verdict}}
	}
	rule := func(exprs ...expr.Any) func() {
		return func() {
			c.AddRule(&nftables.Rule{Table: table, Chain: forward, Exprs: exprs})
			must(c.Flush())
		}
	}
	wants("chain", func() { c.AddTable(table); c.AddChain(forward); must(c.Flush()) }, []string{"+ chain 2 filter FORWARD", "+ table 2 filter"}, nil)
	wants("Docker's rule", rule(about("br-lab", expr.VerdictAccept)...), nil, []string{"+ rule 2 filter FORWARD"})
	wants("foreign rule", rule(about("eth0", expr.VerdictDrop)...), []string{"+ rule 2 filter FORWARD"}, nil)
	wants("foreign rule about the lab", rule(about("br-lab", expr.VerdictDrop)...), []string{"+ rule 2 filter FORWARD"}, []string{"+ rule 2 filter FORWARD"})
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
		must(netlink.AddrAdd(foreign, &netlink.Addr{IPNet: &net.IPNet{IP: net.IPv4(10, 9, 9, 1), Mask: net.CIDRMask(32, 32)}}))
	}, []string{"+ address 10.9.9.1/32 on foreign0", "+ route 10.9.9.1/32"}, nil)
	wants("the lab's interface", func() { must(netlink.LinkSetMTU(veth, 1400)) }, nil, []string{"+ interface br-lab", "- interface br-lab", "+ interface veth1", "- interface veth1"})
}

// This process is found, stopped and going on.
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
		return slices.DeleteFunc(all, func(p process) bool { return !strings.HasPrefix(p.id, fmt.Sprintf("%d sleep ", cmd.Process.Pid)) })
	}
	before := of()
	// Start returns in the midst of exec(2): for an instant the process has no command line.
	for end := time.Now().Add(10 * time.Second); len(before) == 1 && !strings.Contains(before[0].text, " 1h") && time.Now().Before(end); before = of() {
		time.Sleep(time.Millisecond)
	}
	if len(before) != 1 || !strings.Contains(before[0].text, filepath.Base(sleep)+" 1h") {
		t.Fatalf("read: %+v", before)
	}
	if got := processChanges(before, of(), nil); got != nil {
		t.Errorf("nothing has happened: %v", got)
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
