package run

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"locklab/ensembles"
	"locklab/ensembles/labtest"
)

// stormy is a short run with faults of the network, a stopped process and a killed one.
const stormy = `
name: stormy
clients: 4
client-processes: 2
warmup: 300ms
duration: 6s
liveness: 3s
min-acquired: 1
session-timeout: 1s
tick: 200ms
storage: tmpfs
seed: 7
faults:
  - {kind: partition, target: leader, from: servers, at: 200ms, for: 4s}
  - {kind: loss, target: c1, from: servers, loss: 0.3, at: 200ms, for: 4s}
  - {kind: bandwidth, target: c2, from: servers, bandwidth: 64KiB, at: 200ms, for: 4s}
  - {kind: pause, target: c1, at: 300ms, for: 3s}
  - {kind: kill, target: follower, at: 300ms, for: 3s}
expect: {belief-exclusion: any, fairness: any, effect: any, service-exclusion: any, liveness: any}
`

// startUnrelated starts processes of this machine that have the names of processes that faults stop and kill.
func startUnrelated(t *testing.T) {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"java", "locklab"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, program, 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(file, "1h")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		t.Cleanup(func() {
			select {
			case err := <-ended:
				t.Errorf("the run killed the host's %s: %v", name, err)
			default:
				_ = cmd.Process.Kill()
				<-ended
			}
		})
	}
}

// The machine's own rules, interfaces, routes and processes are the same before, during and after a run full of
// network faults. Only what Docker makes for a network is added, and faults do not change that either.
func TestTheHostIsLeftAlone(t *testing.T) {
	labtest.Require(t)
	binary := labtest.Binary(t)
	startUnrelated(t)
	before := labtest.LookAtMachine(t)
	sc := load(t, stormy)
	stage, err := OpenStage(t.Context(), sc, Options{Binary: binary, Log: labtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			_ = stage.Close()
		}
	}()
	lab := stage.lab.ID
	bridge := labtest.Bridge(t, lab)
	labs, err := labtest.Labs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	marks := append(labs[lab].IDs, lab)
	for _, h := range stage.lab.Hosts(ensembles.Server, ensembles.Client, ensembles.Resource) {
		marks = append(marks, h.Address.String())
	}
	idle := labtest.LookAtMachine(t)
	if len(idle.ChangesOf(bridge, before)) == 0 {
		t.Fatalf("nothing is seen of the lab's network %s: the test looks in the wrong place", bridge)
	}

	dir := filepath.Join(t.ArtifactDir(), "run")
	done := make(chan error, 1)
	go func() { done <- stage.Run(t.Context(), sc, dir) }()
	w := newFollower(dir)
	defer w.Close()
	waitFor(t, done, "all faults in force", func() bool { return len(w.inForce(t)) == len(sc.Faults) })
	labtest.AwaitSameNetwork(t, before, idle, bridge)
	if n := len(w.inForce(t)); n != len(sc.Faults) {
		t.Errorf("%d faults were in force when the host had been looked at, not all", n)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	labtest.AwaitSameNetwork(t, before, idle, bridge)
	closed = true
	if err := stage.Close(); err != nil {
		t.Error(err)
	}
	labtest.AwaitSameMachine(t, before, marks...)
}
