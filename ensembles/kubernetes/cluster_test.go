package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/kubernetes"
	"locklab/ensembles/labtest"
)

func TestMain(m *testing.M) {
	labtest.AbandonIfTold(kubernetes.Kind{}, clusterHosts...)
	os.Exit(m.Run())
}

var clusterHosts = []ensembles.HostSpec{{Name: "zk1", Disk: true, Publish: true}, {Name: "zk2"},
	{Name: "c1", Role: ensembles.Client}}

// start makes a lab for the test. Without the variable, which `make test-kubernetes` sets, there is no cluster, or one
// that is not for tests.
func start(t *testing.T, hosts ...ensembles.HostSpec) *ensembles.Lab {
	t.Helper()
	labtest.RequireKind(t, kubernetes.Kind{})
	return labtest.StartOf(t, kubernetes.Kind{}, kubernetes.ErrUnavailable, hosts...)
}

func TestLab(t *testing.T) {
	labtest.RequireKind(t, kubernetes.Kind{})
	given := filepath.Join(t.TempDir(), "given")
	content := strings.Repeat("content\n", 1<<20)
	if err := os.WriteFile(given, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	lab := start(t, ensembles.HostSpec{Name: "zk1", Disk: true, Publish: true}, ensembles.HostSpec{Name: "zk2",
		Files: []ensembles.File{{Source: given, Target: "/given/file"}}},
		ensembles.HostSpec{Name: "c1", Role: ensembles.Client})
	t.Logf("%d hosts after %v", 3, time.Since(begun))
	t.Run("least privilege", func(t *testing.T) {
		said := labtest.Shell(t, lab.Host("zk1"), "grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status; id -u; "+
			"ls /var/run/secrets 2>&1; env")
		const netAdmin = "0000000000001000"
		for _, want := range []string{"CapPrm:\t" + netAdmin, "CapEff:\t" + netAdmin, "CapBnd:\t" + netAdmin,
			"NoNewPrivs:\t1", "Seccomp:\t2"} {
			if !strings.Contains(said, want) {
				t.Errorf("a process's status does not contain %q:\n%s", want, said)
			}
		}
		if strings.Contains(said, "serviceaccount") || strings.Contains(said, agent.EnvSecret) {
			t.Errorf("a process sees a secret:\n%s", said)
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
	t.Run("files", func(t *testing.T) {
		if said := labtest.Shell(t, lab.Host("zk2"), "wc -c < /given/file"); strings.TrimSpace(said) !=
			fmt.Sprint(len(content)) {
			t.Errorf("%s bytes arrived", said)
		}
	})
	t.Run("hosts reach each other", func(t *testing.T) {
		got, err := lab.Host("c1").Agent.Probe(t.Context(), 5*time.Second,
			netip.AddrPortFrom(lab.Host("zk2").Address, agent.Port))
		if err != nil || got[0] != "" {
			t.Errorf("%v, %v", got, err)
		}
	})
	t.Run("servers are spread over the nodes", func(t *testing.T) {
		_, nodes, err := kubernetes.Objects(t.Context(), lab.ID)
		if err != nil {
			t.Fatal(err)
		}
		all, err := kubernetes.Nodes(t.Context())
		if err != nil || all > 1 && nodes["zk1"] == nodes["zk2"] {
			t.Errorf("%v of %d, %v", nodes, all, err)
		}
	})
	t.Run("an image that is not there", func(t *testing.T) {
		_, err := ensembles.StartLab(t.Context(), kubernetes.Kind{}, ensembles.LabConfig{Binary: labtest.Binary(t),
			Log: labtest.Log(t), Hosts: []ensembles.HostSpec{{Name: "c1", Image: "locklab.invalid/none:1"}}})
		if err == nil || !strings.Contains(err.Error(), "image locklab.invalid/none:1: ErrImagePull") {
			t.Error(err)
		}
	})
}

// goneWithin is how long after a SIGKILL of the harness nothing of its lab is left: its lease, the time that an ended
// Job stays, and what the cluster's controllers take.
const goneWithin = kubernetes.Lease + 30*time.Second

// awaitGone waits until the cluster has nothing of a lab.
func awaitGone(t *testing.T, lab string, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	begun := time.Now()
	if err := ensembles.Poll(ctx, 200*time.Millisecond, "lab "+lab+" to be gone", func() error {
		left, _, err := kubernetes.Objects(ctx, lab)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("left: %v", left)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	t.Logf("lab %s is gone after %v", lab, time.Since(begun).Round(100*time.Millisecond))
}

// A SIGKILL of the harness leaves nothing, by the cluster's own controllers.
func TestAnAbandonedLabRemovesItself(t *testing.T) {
	labtest.RequireKind(t, kubernetes.Kind{})
	id, kill := labtest.StartToAbandon(t)
	before, _, err := kubernetes.Objects(t.Context(), id)
	if err != nil || len(before) != 3*len(clusterHosts) {
		t.Errorf("a Job, a pod and a Secret for each host are expected: %v, %v", before, err)
	}
	kill()
	awaitGone(t, id, goneWithin)
}

// The same holds if the harness dies while it makes the lab, whatever it has made by then.
func TestALabThatIsAbandonedWhileItStarts(t *testing.T) {
	labtest.RequireKind(t, kubernetes.Kind{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := labtest.Binary(t)
	before := labels(t)
	var kills sync.WaitGroup
	for range 4 {
		after := rand.N(3 * time.Second)
		t.Logf("a kill after %v", after)
		cmd := exec.Command(self, "role-abandon", binary)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kills.Go(func() {
			<-time.After(after) // the moment is what is tested
			err := cmd.Process.Kill()
			if err != nil && !errors.Is(err, os.ErrProcessDone) {
				t.Error(err)
			}
			_ = cmd.Wait()
		})
	}
	kills.Wait()
	for _, lab := range labels(t) {
		if !slices.Contains(before, lab) {
			awaitGone(t, lab, goneWithin)
		}
	}
}

// labels lists the labs that the cluster has anything of.
func labels(t *testing.T) []string {
	t.Helper()
	labs, err := kubernetes.Labs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return labs
}
