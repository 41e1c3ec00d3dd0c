package process_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles"
	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
	"locklab/ensembles/process"
)

func TestMain(m *testing.M) {
	labtest.AbandonIfTold(process.Kind{}, hosts...)
	os.Exit(m.Run())
}

var hosts = []ensembles.HostSpec{{Name: "zk1", Disk: true}, {Name: "zk2"}, {Name: "zk3"},
	{Name: "c1", Role: ensembles.Client}, {Name: "c2", Role: ensembles.Client, Disk: true}}

// start makes a lab for the test, which is closed at its end.
func start(t *testing.T, hosts ...ensembles.HostSpec) *ensembles.Lab {
	t.Helper()
	return labtest.StartOf(t, process.Kind{}, process.ErrUnavailable, hosts...)
}

// Two labs have three servers each, side by side on one network, which does not change.
func TestLab(t *testing.T) {
	before := labtest.LookAtMachine(t)
	lab, other := start(t, hosts...), start(t, hosts...)
	config := ensembles.ServerConfig{Tick: 200 * time.Millisecond, SyncLimit: 5,
		MinSessionTimeout: 400 * time.Millisecond, MaxSessionTimeout: time.Minute, HeapBytes: 128 << 20}
	for _, l := range []*ensembles.Lab{lab, other} {
		e, err := ensembles.StartEnsemble(t.Context(), l, config)
		if err != nil {
			t.Fatal(err)
		}
		if roles, err := e.Roles(t.Context()); err != nil || len(roles) != 3 {
			t.Errorf("roles %v, %v", roles, err)
		}
	}
	t.Run("the machine's network does not change", func(t *testing.T) {
		if changes := labtest.LookAtMachine(t).ChangesOf("", before); len(changes) > 0 {
			t.Errorf("%v", changes)
		}
	})
	t.Run("storage", func(t *testing.T) {
		for host, disk := range map[string]bool{"c1": false, "c2": true} {
			dir := strings.TrimSpace(labtest.Shell(t, lab.Host(host), "pwd"))
			if strings.HasPrefix(dir, "/dev/shm/") == disk {
				t.Errorf("%s has its data in %s", host, dir)
			}
		}
	})
	t.Run("faults of the network are refused", func(t *testing.T) {
		block := agent.Block{ID: "b", Peers: []netip.Addr{lab.Host("zk1").Address}}
		_, err := lab.Host("c1").Agent.Block(t.Context(), block)
		if !errors.Is(err, agent.ErrUnsupported) {
			t.Errorf("a block: %v", err)
		}
		lacks, err := lab.Host("c1").Agent.Capabilities(t.Context())
		delete(lacks, agent.CapFaketime) // that is a matter of the machine
		if diff := cmp.Diff(process.Kind{}.Lacks(), lacks); diff != "" || err != nil {
			t.Errorf("%v; what the kind lacks and its agents lack (-kind +agents):\n%s", err, diff)
		}
	})
	t.Run("a host has its files", func(t *testing.T) {
		program := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(program, []byte("#!/bin/sh\necho it runs\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		h := start(t, ensembles.HostSpec{Name: "c1", Role: ensembles.Client, Base: true,
			Files: []ensembles.File{{Source: program, Target: "/lock/a/program", Executable: true}}}).Host("c1")
		if said := labtest.Shell(t, h, h.Path("/lock/a/program")); !strings.Contains(said, "it runs") {
			t.Errorf("%q", said)
		}
	})
	t.Run("images are refused", func(t *testing.T) {
		_, err := ensembles.StartLab(t.Context(), process.Kind{}, ensembles.LabConfig{Binary: labtest.Binary(t),
			Log: labtest.Log(t), Hosts: []ensembles.HostSpec{{Name: "c1", Image: "x"}}})
		if !errors.Is(err, process.ErrUnavailable) || !strings.Contains(err.Error(), "host c1") {
			t.Errorf("%v", err)
		}
	})
}

// dataDirs lists the directories of labs.
func dataDirs(t *testing.T) (dirs []string) {
	t.Helper()
	for _, parent := range []string{os.TempDir(), "/dev/shm"} {
		found, err := filepath.Glob(filepath.Join(parent, "locklab-process-*"))
		if err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, found...)
	}
	return dirs
}

// A SIGKILL of the harness leaves nothing: no process, no directory.
func TestAnAbandonedLabRemovesItself(t *testing.T) {
	start(t, ensembles.HostSpec{Name: "c1", Role: ensembles.Client}) // or the test is skipped
	labtest.LeavesNothing(t, len(hosts), 2, func() []string { return dataDirs(t) })
}
