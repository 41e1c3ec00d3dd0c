package netns_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
	"locklab/ensembles/netns"
)

func TestMain(m *testing.M) {
	labtest.AbandonIfTold(netns.Kind{}, hosts...)
	os.Exit(m.Run())
}

var hosts = []ensembles.HostSpec{{Name: "zk1", Disk: true, Publish: true}, {Name: "zk2"},
	{Name: "c1", Role: ensembles.Client}, {Name: "r1", Role: ensembles.Resource, Publish: true}}

// start makes a lab for the test, which is closed at its end.
func start(t *testing.T, hosts ...ensembles.HostSpec) *ensembles.Lab {
	t.Helper()
	return labtest.StartOf(t, netns.Kind{}, netns.ErrUnavailable, hosts...)
}

// A lab with a host of each kind.
func TestLab(t *testing.T) {
	lab := start(t, hosts...)
	t.Run("the machine's network does not change", func(t *testing.T) {
		before := labtest.LookAtMachine(t)
		start(t, hosts...)
		if changes := labtest.LookAtMachine(t).ChangesOf("", before); len(changes) > 0 {
			t.Errorf("%v", changes)
		}
	})
	t.Run("least privilege", func(t *testing.T) {
		said := labtest.Shell(t, lab.Host("zk1"), "grep -E '^(Uid|Cap)' /proc/self/status; id -u")
		const netAdmin = "0000000000001000"
		for _, want := range []string{"CapPrm:\t" + netAdmin, "CapEff:\t" + netAdmin, "CapBnd:\t" + netAdmin} {
			if !strings.Contains(said, want) {
				t.Errorf("a process's status does not contain %q:\n%s", want, said)
			}
		}
	})
	t.Run("the machine's files cannot be changed", func(t *testing.T) {
		said := labtest.Shell(t, lab.Host("zk1"),
			"for d in / /usr /etc /opt; do touch $d/x; done; ls /; ls /proc | grep -c '^[0-9]'")
		if strings.Count(said, "Read-only file system") < 2 {
			t.Errorf("%s", said)
		}
		for _, dir := range []string{"home", "root", "var", "sys"} {
			if slices.Contains(strings.Fields(said), dir) {
				t.Errorf("a host sees the machine's /%s:\n%s", dir, said)
			}
		}
	})
	t.Run("storage", func(t *testing.T) {
		for host, tmpfs := range map[string]bool{"zk1": false, "zk2": true} {
			said := labtest.Shell(t, lab.Host(host), "grep ' "+agent.DataDir+" ' /proc/mounts")
			if strings.Contains(said, " tmpfs ") != tmpfs {
				t.Errorf("%s: %s", host, said)
			}
		}
	})
	t.Run("a process has no files but its own", func(t *testing.T) {
		// The last host to start is the one that could inherit the sockets of all others.
		for _, h := range []string{"zk2", "r1"} {
			if got := strings.Fields(labtest.Shell(t, lab.Host(h), "ls /proc/$$/fd; true")); !slices.Equal(got,
				[]string{"0", "1", "2"}) {
				t.Errorf("on %s: %v", h, got)
			}
		}
	})
	t.Run("names", func(t *testing.T) {
		said := labtest.Shell(t, lab.Host("zk2"), "cat /etc/hosts; hostname")
		for _, h := range lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource) {
			if !strings.Contains(said, h.Address.String()+"\t"+h.Name) {
				t.Errorf("no entry for %s at %v in\n%s", h.Name, h.Address, said)
			}
		}
		if !strings.HasSuffix(said, "\nzk2\n") {
			t.Errorf("the host's name is not zk2:\n%s", said)
		}
	})
	t.Run("hosts reach each other, and nothing else", func(t *testing.T) {
		other := start(t, ensembles.HostSpec{Name: "zk9"}, ensembles.HostSpec{Name: "zk8"}, ensembles.HostSpec{Name: "c8"},
			ensembles.HostSpec{Name: "c9"}, ensembles.HostSpec{Name: "r9"})
		ports := []netip.AddrPort{netip.AddrPortFrom(lab.Host("r1").Address, agent.Port),
			netip.AddrPortFrom(other.Host("r9").Address, agent.Port), netip.MustParseAddrPort("192.0.2.1:80")}
		got, err := lab.Host("c1").Agent.Probe(t.Context(), time.Second, ports...)
		if err != nil {
			t.Fatal(err)
		}
		if got[0] != "" || got[1] == "" || got[2] == "" {
			t.Errorf("c1 to its own lab, to another lab, and out: %q", got)
		}
	})
	t.Run("an image is refused", func(t *testing.T) {
		_, err := ensembles.StartLab(t.Context(), netns.Kind{}, ensembles.LabConfig{Binary: labtest.Binary(t),
			Log: labtest.Log(t), Hosts: []ensembles.HostSpec{{Name: "c1", Image: "python:3"}}})
		if err == nil || !strings.Contains(err.Error(), "python:3") || !strings.Contains(err.Error(), "lab: docker") {
			t.Errorf("%v", err)
		}
	})
}

// dataDirs lists the directories of hosts with a disk.
func dataDirs(t *testing.T) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), "locklab-netns-*"))
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// A SIGKILL of the harness leaves nothing at all: no process, no namespace, no directory.
func TestAnAbandonedLabRemovesItself(t *testing.T) {
	start(t, ensembles.HostSpec{Name: "c1"}) // or the test is skipped
	labtest.LeavesNothing(t, len(hosts), 1, func() []string { return dataDirs(t) })
}
