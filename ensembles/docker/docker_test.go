package docker_test

import (
	"context"
	"errors"
	"fmt"
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
	"locklab/ensembles/docker"
	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
)

func closeLab(t *testing.T, lab *ensembles.Lab) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := lab.Close(ctx); err != nil {
		t.Error(err)
	}
}

// A lab with a host of each kind.
func TestDockerLab(t *testing.T) {
	e := openEngine(t)
	before := labtest.LookAtMachine(t)
	begun := time.Now()
	lab := labtest.Start(t, ensembles.HostSpec{Name: "zk1", Disk: true}, ensembles.HostSpec{Name: "zk2", Publish: true},
		ensembles.HostSpec{Name: "c1", Role: ensembles.Client}, ensembles.HostSpec{Name: "r1", Role: ensembles.Resource})
	t.Logf("a lab of four hosts is up after %v", time.Since(begun))
	hosts := lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource)
	idle := labtest.LookAtMachine(t)

	t.Run("in parallel", func(t *testing.T) {
		var all []inspection
		for _, h := range hosts {
			all = append(all, inspect(t, e, lab, h.Name))
		}
		slices.SortFunc(all, func(a, b inspection) int { return a.Created.Compare(b.Created) })
		overlapping := 0
		for i, c := range all {
			t.Logf("created %v, started %v", c.Created.Sub(begun), c.State.StartedAt.Sub(begun))
			if i > 0 && c.Created.Before(all[i-1].State.StartedAt) {
				overlapping++
			}
		}
		// If hosts were started one after the other, each would be created after the one before had started.
		if overlapping < len(all)/2 {
			t.Errorf("of %d hosts, %d were created while the one before was being started", len(all), overlapping)
		}
	})
	t.Run("least privilege", func(t *testing.T) {
		for _, h := range hosts {
			checkPrivilege(t, h, inspect(t, e, lab, h.Name))
		}
		// A process on the host has the privileges that the engine was asked for.
		said := labtest.Shell(t, lab.Host("zk1"), "grep -E '^(Uid|Cap)' /proc/self/status")
		const netAdmin = "0000000000001000"
		for _, want := range []string{"CapPrm:\t" + netAdmin, "CapEff:\t" + netAdmin, "CapBnd:\t" + netAdmin,
			"Uid:\t0\t0\t0\t0"} {
			if !strings.Contains(said, want) {
				t.Errorf("a process's status does not contain %q:\n%s", want, said)
			}
		}
	})
	t.Run("storage", func(t *testing.T) {
		for host, want := range map[string]string{"zk1": "volume", "zk2": "tmpfs"} {
			var types []string
			for _, m := range inspect(t, e, lab, host).Mounts {
				if m.Destination == agent.DataDir {
					types = append(types, m.Type)
				}
			}
			if want == "volume" != slices.Equal(types, []string{"volume"}) {
				t.Errorf("%s: mounts of type %v at %s", host, types, agent.DataDir)
			}
			said := labtest.Shell(t, lab.Host(host), "grep ' "+agent.DataDir+" ' /proc/mounts")
			if kind := strings.Fields(said)[2]; (kind == "tmpfs") != (want == "tmpfs") || kind == "overlay" {
				t.Errorf("%s: %s is %s", host, agent.DataDir, said)
			}
		}
	})
	t.Run("names", func(t *testing.T) {
		said := labtest.Shell(t, lab.Host("zk1"), "cat /etc/hosts; hostname")
		for _, h := range hosts {
			if !strings.Contains(said, h.Address.String()+"\t"+h.Name) {
				t.Errorf("zk1 has no hosts entry for %s at %v:\n%s", h.Name, h.Address, said)
			}
		}
	})
	t.Run("the host's network does not change", func(t *testing.T) {
		// A rule in force on a host of the lab is not one on this machine.
		c1 := lab.Host("c1").Agent
		if _, err := c1.Block(t.Context(), agent.Block{ID: "f1", Peers: []netip.Addr{hosts[0].Address}}); err != nil {
			t.Fatal(err)
		}
		labtest.AwaitSameNetwork(t, before, idle, labtest.Bridge(t, lab.ID))
		if _, err := c1.Clear(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	})
	owned := labelled(t, e, lab.ID)
	if len(owned) != len(hosts)+1 {
		t.Errorf("the lab is %v", owned)
	}
	owned = append(owned, volumes(t, e, owned)...)
	closeLab(t, lab)
	allGone(t, e, 0, owned...)
	if left := labelled(t, e, lab.ID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	labtest.AwaitSameMachine(t, before, lab.ID)
}

func checkPrivilege(t *testing.T, h *ensembles.Host, i inspection) {
	t.Helper()
	c := i.HostConfig
	caps := slices.Clone(c.CapAdd)
	for n, name := range caps {
		caps[n] = strings.TrimPrefix(name, "CAP_")
	}
	if c.Privileged || !slices.Equal(c.CapDrop, []string{"ALL"}) || !slices.Equal(caps, []string{"NET_ADMIN"}) {
		t.Errorf("%s: privileged %v, drops %v, adds %v", h.Name, c.Privileged, c.CapDrop, c.CapAdd)
	}
	if i.Config.User != "0:0" {
		t.Errorf("%s runs as %q", h.Name, i.Config.User)
	}
	if !c.AutoRemove {
		t.Errorf("%s is not removed when it exits", h.Name)
	}
	extras := len(c.Binds) + len(c.VolumesFrom) + len(c.Devices) + len(c.DeviceRequests) +
		len(c.DeviceCgroupRules) + len(c.SecurityOpt)
	if extras > 0 {
		t.Errorf("%s: %+v", h.Name, c)
	}
	for what, mode := range map[string]string{"pid": c.PidMode, "ipc": c.IpcMode, "uts": c.UTSMode, "user": c.UsernsMode,
		"network": c.NetworkMode} {
		if mode == "host" || strings.HasPrefix(mode, "container:") {
			t.Errorf("%s: %s namespace is %s", h.Name, what, mode)
		}
	}
	for _, m := range i.Mounts {
		if m.Type != "tmpfs" && m.Type != "volume" {
			t.Errorf("%s mounts %+v", h.Name, m)
		}
	}
	published := 0
	for port, at := range i.NetworkSettings.Ports {
		for _, b := range at {
			published++
			if b.HostIp != "127.0.0.1" {
				t.Errorf("%s: port %s is published on %s", h.Name, port, b.HostIp)
			}
		}
	}
	want := 1
	if h.Published.IsValid() {
		want = 2
	}
	if published != want || c.PublishAllPorts {
		t.Errorf("%s: published %v", h.Name, i.NetworkSettings.Ports)
	}
	if len(i.NetworkSettings.Networks) != 1 {
		t.Errorf("%s is on %v", h.Name, i.NetworkSettings.Networks)
	}
	for _, n := range i.NetworkSettings.Networks {
		if n.IPAddress != h.Address.String() || n.GlobalIPv6Address != "" {
			t.Errorf("%s is at %+v, not %v", h.Name, n, h.Address)
		}
	}
}

// If the harness dies while it makes the lab, Clean removes what leases do not, whatever had been made by then.
func TestALabThatIsAbandonedWhileItStarts(t *testing.T) {
	suite.Nightly(t, "kills at every moment of a start; TestAnAbandonedLabRemovesItself kills a lab that runs")
	e := openEngine(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := labtest.Binary(t)
	for _, enough := range []int{1, 2, 3} { // the network; one container; both
		before := labelled(t, e, "")
		cmd := exec.Command(self, "role-abandon", binary)
		cmd.Stderr = t.Output()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var made []string
		eventually(t, time.Minute, "a lab to begin", func() bool {
			made = slices.DeleteFunc(labelled(t, e, ""), func(o string) bool { return slices.Contains(before, o) })
			return len(made) >= enough
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
		eventually(t, time.Minute, fmt.Sprintf("the rest of %v to be removed", made), func() bool {
			after := slices.DeleteFunc(labelled(t, e, ""), func(o string) bool { return slices.Contains(before, o) })
			return len(cleaned(t, after)) == 0
		})
	}
}

// cleaned calls Clean and returns the paths without those of networks that the engine miscounts. Such a network may be
// another run's.
func cleaned(t *testing.T, paths []string) []string {
	t.Helper()
	err := (docker.Kind{}).Clean(t.Context(), labtest.Log(t))
	if errors.Is(err, docker.ErrMiscounted) {
		t.Log(err)
		return slices.DeleteFunc(paths, func(p string) bool {
			id, isNetwork := strings.CutPrefix(p, "/networks/")
			return isNetwork && strings.Contains(err.Error(), id)
		})
	}
	if err != nil {
		t.Error(err)
	}
	return paths
}

// A SIGKILL of the harness leaves nothing but an empty network, because leases remove the containers and their volumes.
// locklab clean removes the network.
func TestAnAbandonedLabRemovesItself(t *testing.T) {
	e := openEngine(t)
	id, kill := labtest.StartToAbandon(t)
	owned := labelled(t, e, id)
	vols := volumes(t, e, owned)
	if len(owned) != 3 || len(vols) == 0 {
		t.Fatalf("the lab is %v with volumes %v", owned, vols)
	}
	kill()
	killed := time.Now()
	var going, network []string
	for _, o := range owned {
		if strings.HasPrefix(o, "/networks/") {
			network = append(network, o)
		} else {
			going = append(going, o)
		}
	}
	allGone(t, e, 20*time.Second, append(going, vols...)...)
	t.Logf("gone %v after the kill", time.Since(killed))

	// Clean removes the rest, including a container that was created and never started. It leaves a running lab
	// alone, and networks that locklab has not made.
	call(t, e, "POST", "/networks/create", `{"Name":"locklab-test-foreign"}`, nil)
	defer call(t, e, "DELETE", "/networks/locklab-test-foreign", "", nil)
	base, err := docker.FindImage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ Id string }
	call(t, e, "POST", "/containers/create",
		`{"Image":"`+base+`","Cmd":["true"],"Labels":{"`+docker.LabelLab+`":"`+id+`"},
		"HostConfig":{"Mounts":[{"Type":"volume","Target":"/lab"}]}}`, &made)
	never := "/containers/" + made.Id
	left := append(network, never)
	left = append(left, volumes(t, e, []string{never})...)
	if len(left) != 3 {
		t.Fatalf("left: %v", left)
	}
	// Starting a lab does not remove young leftovers.
	lab := labtest.Start(t, ensembles.HostSpec{Name: "c1", Role: ensembles.Client})
	if !exists(t, e, never+"/json") {
		t.Error("another run removed a container that may belong to a lab that is just starting")
	}
	allGone(t, e, 0, cleaned(t, left)...)
	if _, err := lab.Host("c1").Agent.Status(t.Context()); err != nil || len(labelled(t, e, lab.ID)) != 2 {
		t.Errorf("a running lab was changed: %v, %v", labelled(t, e, lab.ID), err)
	}
	if !exists(t, e, "/networks/locklab-test-foreign") {
		t.Error("a network that locklab had not made was removed")
	}
}

func TestSimultaneousLabs(t *testing.T) {
	e := openEngine(t)
	binary := labtest.Binary(t)
	labs := make([]*ensembles.Lab, 3)
	var wg sync.WaitGroup
	for i := range labs {
		wg.Go(func() {
			lab, err := ensembles.StartLab(t.Context(), docker.Kind{}, ensembles.LabConfig{Binary: binary, Log: labtest.Log(t),
				Hosts: []ensembles.HostSpec{{Name: "c1", Role: ensembles.Client}, {Name: "r1", Role: ensembles.Resource}}})
			if err != nil {
				t.Error(err)
				return
			}
			labs[i] = lab
			t.Cleanup(func() { closeLab(t, lab) })
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	// A host reaches the hosts of its own lab only.
	c1, own, other := labs[0].Host("c1"), labs[0].Host("r1").Address, labs[1].Host("r1").Address
	got, err := c1.Agent.Probe(t.Context(), time.Second, netip.AddrPortFrom(own, agent.Port),
		netip.AddrPortFrom(other, agent.Port))
	if err != nil {
		t.Fatal(err)
	}
	if own == other || got[0] != "" || got[1] == "" {
		t.Errorf("c1 to its own lab's r1 at %v: %q; to another's at %v: %q", own, got[0], other, got[1])
	}
	// A subnet that is in use is reported as such, so that another is tried.
	id := "test" + labs[0].ID
	defer e.RemoveLab(context.WithoutCancel(t.Context()), id)
	subnet := netip.PrefixFrom(own, 24).Masked()
	if err := e.AddNetwork(t.Context(), id, subnet); !errors.Is(err, docker.ErrSubnetTaken) {
		t.Errorf("a second network with subnet %v: %v", subnet, err)
	}
}

// A start that is interrupted leaves nothing, not even what the engine was just making.
func TestAnInterruptedStartLeavesNothing(t *testing.T) {
	e := openEngine(t)
	binary := labtest.Binary(t)
	for _, enough := range []int{1, 2, 4} { // the network; one container; three of four
		before := labelled(t, e, "")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			lab, err := ensembles.StartLab(ctx,
				docker.Kind{}, ensembles.LabConfig{Binary: binary, Log: labtest.Log(t), Hosts: []ensembles.HostSpec{
					{Name: "zk1", Disk: true}, {Name: "zk2"}, {Name: "c1", Role: ensembles.Client},
					{Name: "c2", Role: ensembles.Client}}})
			if err == nil {
				err = errors.Join(errors.New("the start was not interrupted"), lab.Close(context.WithoutCancel(ctx)))
			}
			done <- err
		}()
		var new []string
		eventually(t, time.Minute, "a lab to begin", func() bool {
			new = slices.DeleteFunc(labelled(t, e, ""), func(o string) bool { return slices.Contains(before, o) })
			return len(new) >= enough
		})
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("with %d things made: %v", len(new), err)
		}
		after := slices.DeleteFunc(labelled(t, e, ""), func(o string) bool { return slices.Contains(before, o) })
		if len(after) > 0 {
			t.Errorf("interrupted with %d things made, left: %v", len(new), after)
		}
		allGone(t, e, 0, new...)
	}
}

func TestStartWithoutPrerequisites(t *testing.T) {
	t.Run("engine", func(t *testing.T) {
		for _, host := range []string{"unix:///nonexistent", "tcp://127.0.0.1:1", "nonsense"} {
			t.Setenv("DOCKER_HOST", host)
			_, err := docker.FindImage(t.Context())
			if !errors.Is(err, docker.ErrNoEngine) || !strings.Contains(err.Error(), host) {
				t.Errorf("DOCKER_HOST=%s: %v", host, err)
			}
			_, err = ensembles.StartLab(t.Context(), docker.Kind{}, ensembles.LabConfig{Log: labtest.Log(t)})
			if !errors.Is(err, docker.ErrNoEngine) {
				t.Errorf("DOCKER_HOST=%s: start: %v", host, err)
			}
		}
	})
	t.Run("image", func(t *testing.T) {
		real(t)
		t.Setenv(docker.EnvImage, "locklab/no-such-image:none")
		_, err := ensembles.StartLab(t.Context(), docker.Kind{},
			ensembles.LabConfig{Log: labtest.Log(t), Binary: labtest.Binary(t),
				Hosts: []ensembles.HostSpec{{Name: "zk1", Role: ensembles.Server}}})
		if !errors.Is(err, docker.ErrNoImage) || !strings.Contains(err.Error(), "no-such-image") {
			t.Errorf("start: %v", err)
		}
	})
	t.Run("static binary", func(t *testing.T) {
		e := openEngine(t)
		before := labelled(t, e, "")
		sh, err := exec.LookPath("sh")
		if err != nil {
			t.Skip(err)
		}
		text := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(text, []byte("#!/bin/sh\n"+strings.Repeat("#", 100)), 0o755); err != nil {
			t.Fatal(err)
		}
		for binary, want := range map[string]string{sh: "dynamically linked", text: "bad magic",
			"/nonexistent": "no such file"} {
			_, err := ensembles.StartLab(t.Context(), docker.Kind{}, ensembles.LabConfig{Log: labtest.Log(t), Binary: binary})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("binary %s: %v", binary, err)
			}
		}
		if after := labelled(t, e, ""); len(after) > len(before) {
			t.Errorf("left: %v", after)
		}
	})
}
