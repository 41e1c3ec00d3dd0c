package run

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"locklab/ensembles/agent"
	"locklab/ensembles/labtest"
	"locklab/ensembles/process"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/judge"
)

// withClocks returns a program that behaves like the binary, except that the agents of some hosts have other clocks, as
// on other machines: each is that many seconds ahead.
func withClocks(t *testing.T, binary string, ahead map[string]int) string {
	t.Helper()
	if err := exec.Command("unshare", "--time", "--monotonic", "1", "true").Run(); err != nil {
		t.Skipf("this machine grants no time namespace: %v", err)
	}
	var script bytes.Buffer
	fmt.Fprintf(&script, "#!/bin/sh\ncase \"$%s\" in\n", agent.EnvHost)
	for host, seconds := range ahead {
		// What unshare executes is in the namespace, by Linux 6.3 or later.
		fmt.Fprintf(&script, "%s) exec unshare --time --monotonic %d %s \"$@\";;\n", host, seconds, binary)
	}
	fmt.Fprintf(&script, "esac\nexec %s \"$@\"\n", binary)
	file := filepath.Join(t.TempDir(), "locklab")
	if err := os.WriteFile(file, script.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// stopped is a run in which a client is stopped for longer than its session, and another one gets its lock.
const stopped = `
clients: 4
client-processes: 2
victim-alone: true
hold: 20ms
think: 100ms
warmup: 300ms
duration: 6s
min-acquired: 1
session-timeout: 1s
tick: 200ms
storage: tmpfs
seed: 7
faults:
  - {kind: pause, target: c1, trigger: within-hold, until: superseded, linger: 200ms}
expect: {belief-exclusion: fail, effect: any, fairness: any}
`

// A run whose hosts have clocks of their own comes to what it comes to on one machine: the clients work when they are
// to, the overlap is seen and explained by the pause, and no host's times are far from the run's. The report says how
// closely the clocks are known.
//
// It runs alone: a clock is known as closely as this process is scheduled, and beside it other tests judge large
// records in this process.
func TestHostsOnOtherMachines(t *testing.T) {
	labtest.Require(t)
	binary := withClocks(t, labtest.Binary(t), map[string]int{"c1": 100_000, "zk2": 5_000, "r1": 7})
	sc := load(t, stopped)
	sc.Lab = process.Kind{}.Name()
	stage, err := OpenStage(t.Context(), sc, Options{Binary: binary, Log: labtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	}()
	dir := filepath.Join(t.ArtifactDir(), "run")
	if err := stage.Run(t.Context(), sc, dir); err != nil {
		t.Fatal(err)
	}
	out, err := judge.Conclude(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range out.Result.Checks {
		t.Logf("%s: %s: %s", c.Name, c.Result, c.Summary)
	}
	if out.Result.Verdict != evidence.Pass {
		t.Errorf("the verdict is %s", out.Result.Verdict)
	}
	v := out.Report.Check(evidence.BeliefExclusion)
	if v.Result != evidence.Fail || v.Count == 0 || v.Findings[0].Cause != "pause" {
		t.Errorf("belief-exclusion: %s: %s", v.Result, v.Summary)
	}
	clocks := map[string]history.Uncertainty{}
	for _, c := range out.Result.Clocks {
		t.Logf("%v: ahead by %d ns, %d ns of drift, known to %d ns", c.Hosts, c.Offset, c.Drift, c.Err)
		for _, host := range c.Hosts {
			clocks[host] = c
		}
	}
	if len(clocks) != 3 || clocks["c1"].Offset/int64(time.Second) > -99_999 {
		t.Errorf("clocks: %+v", out.Result.Clocks)
	}
	log, _, err := history.ReadRaw(filepath.Join(dir, "hosts"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range log.All() {
		if e.At < -int64(time.Minute) || e.At > int64(time.Minute) {
			t.Fatalf("event %d is placed far from the run: %v", i+1, e)
		}
	}
}
