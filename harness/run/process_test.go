package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/rundir"
	"locklab/reports/result"
)

// full is a short run with every kind of fault in force at once.
const full = `
name: full
clients: 6
client-processes: 2
warmup: 300ms
duration: 5s
liveness: 3s
min-acquired: 1
session-timeout: 1s
tick: 200ms
storage: disk
seed: 7
faults:
  - {kind: pause, target: c1, at: 200ms, for: 3s}
  - {kind: partition, target: c2, from: servers, at: 300ms, for: 2s}
  - {kind: kill, target: leader, at: 400ms, for: 1500ms}
`

// goneCap is the time after which nothing of a killed harness may be left.
const goneCap = 30 * time.Second

// A command is a process of the built binary.
type command struct {
	*exec.Cmd
	dir  string // the run's
	done chan string
	out  *os.File
	err  *os.File

	others  map[string]bool // labs that were there before
	lab     string          // the command's own, once seen
	volumes []string        // of it
}

// begin starts locklab, with a run directory of its own.
func begin(t *testing.T, source string, args ...string) *command {
	t.Helper()
	labtest.Require(t)
	base := t.ArtifactDir()
	c := &command{dir: filepath.Join(base, "run"), done: make(chan string, 1), others: map[string]bool{}}
	labs, err := labtest.Labs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for id := range labs {
		c.others[id] = true
	}
	file := filepath.Join(base, "full.yaml")
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	c.Cmd = exec.Command(labtest.Binary(t), append([]string{"run", file, "--out", c.dir}, args...)...)
	if c.out, err = os.Create(filepath.Join(base, "stdout")); err == nil {
		c.err, err = os.Create(filepath.Join(base, "stderr"))
	}
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = c.out, c.err
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.Wait() // the state says how
		c.done <- c.ProcessState.String()
	}()
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			<-c.done
		}
		c.out.Close()
		c.err.Close()
		if t.Failed() {
			t.Logf("stdout:\n%s\nstderr:\n%s", c.text(t, c.out), c.text(t, c.err))
		}
	})
	return c
}

func (c *command) text(t *testing.T, f *os.File) string {
	t.Helper()
	b, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// look finds the command's lab among those that the engine has. Until the run directory names it, it is the lab that
// was not there before the command, because tests that make labs run one at a time.
func (c *command) look(t *testing.T) *labtest.Owned {
	t.Helper()
	labs, err := labtest.Labs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if env, err := rundir.ReadEnv(c.dir); err == nil && c.lab != env.LabID {
		c.lab, c.volumes = env.LabID, nil
	}
	for id, o := range labs {
		if !c.others[id] && (c.lab == "" || c.lab == id) {
			c.lab = id
			for _, v := range o.Volumes {
				if !slices.Contains(c.volumes, v) {
					c.volumes = append(c.volumes, v)
				}
			}
			return o
		}
	}
	return &labtest.Owned{}
}

// signal sends a signal to the harness and waits for its end.
func (c *command) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := c.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// awaitEnd waits until the process ends and returns its exit code; -1 if a signal ended it.
func (c *command) awaitEnd(t *testing.T) int {
	t.Helper()
	select {
	case <-c.done:
		return c.ProcessState.ExitCode()
	case <-time.After(awaitCap):
		t.Fatalf("it has not ended after %v", awaitCap)
		return 0
	}
}

// awaitEvent waits until the harness has recorded such an event.
func (c *command) awaitEvent(t *testing.T, what string, ok func(history.Event) bool) {
	t.Helper()
	w := newFollower(c.dir)
	defer w.Close()
	waitFor(t, c.done, what, func() bool { return w.seen(t, ok) })
}

// runToEnd runs locklab and returns its exit code and what it printed.
func runToEnd(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.Command(labtest.Binary(t), args...)
	cmd.Stderr = t.Output()
	b, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0, string(b)
}

func faultVerified(id string) func(history.Event) bool {
	return func(e history.Event) bool {
		return e.Op == history.OpFaultVerify && e.Kind == history.OK && e.Fault == id
	}
}

// After Ctrl-C in the middle of a run, the command heals, reports what there is as partial, and takes its lab down
// before it ends.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	c := begin(t, full)
	for _, f := range []string{"f1", "f2", "f3"} {
		c.awaitEvent(t, f+" to be in force", faultVerified(f))
	}
	c.look(t)
	c.signal(t, syscall.SIGINT)
	if code := c.awaitEnd(t); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if o := c.look(t); len(o.Running)+len(o.Created)+len(o.Other)+len(o.Networks) > 0 {
		t.Errorf("left behind: %+v", o)
	}
	labtest.AwaitGone(t, c.lab, c.volumes, goneCap)
	if r := readResult(t, c.dir); !r.Partial || r.Verdict == evidence.Pass {
		t.Errorf("result: partial %v, verdict %s", r.Partial, r.Verdict)
	}
	for _, f := range []string{"f1", "f2", "f3"} {
		c.wantEvent(t, f+" healed", func(e history.Event) bool {
			return e.Op == history.OpFaultHeal && e.Kind == history.OK && e.Fault == f
		})
		// An interrupted run waits for no recovery for long, and a server that has to start again may not be there yet.
		c.wantEvent(t, f+" seen to be healed, or not", func(e history.Event) bool {
			return e.Op == history.OpFaultHealVerify && (e.Kind == history.OK || e.Kind == history.Fail) && e.Fault == f
		})
	}
	if _, err := os.Stat(rundir.ReportPath(c.dir)); err != nil {
		t.Error(err)
	}
	if out := c.text(t, c.out); !strings.Contains(out, "(partial run)") {
		t.Errorf("stdout does not say partial:\n%s", out)
	}
	if code, _ := runToEnd(t, "check", c.dir); code != 130 {
		t.Errorf("check: exit code %d, want the run's 130", code)
	}
	if code, out := runToEnd(t, "report", c.dir); code != 0 || !strings.Contains(out, "(partial run)") {
		t.Errorf("report: exit code %d, %q", code, out)
	}
}

func (c *command) wantEvent(t *testing.T, what string, ok func(history.Event) bool) {
	t.Helper()
	w := newFollower(c.dir)
	defer w.Close()
	if !w.seen(t, ok) {
		t.Errorf("not in the record: %s", what)
	}
}

// Ctrl-C before there is anything to report leaves nothing.
func TestInterruptWhileTheLabStarts(t *testing.T) {
	suite.Nightly(t, "a lab of its own; ensembles/docker interrupts a start every time")
	c := begin(t, full)
	waitFor(t, c.done, "the lab's first container", func() bool {
		o := c.look(t)
		return len(o.Running)+len(o.Created) > 0
	})
	c.signal(t, syscall.SIGINT)
	if code := c.awaitEnd(t); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	if o := c.look(t); len(o.Running)+len(o.Created)+len(o.Networks) > 0 {
		t.Errorf("left behind: %+v", o)
	}
	if _, err := os.Stat(c.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("run directory of a run that never began: %v", err)
	}
	if out := c.text(t, c.out); out != "" {
		t.Errorf("stdout: %q", out)
	}
}

// The second Ctrl-C aborts at once, and the lab removes itself.
func TestSecondInterruptAborts(t *testing.T) {
	suite.Nightly(t, "a lab of its own; TestSecondSignalEndsAtOnce needs none")
	t.Parallel()
	c := begin(t, full)
	c.awaitEvent(t, "f1 to be in force", faultVerified("f1"))
	c.look(t)
	c.signal(t, syscall.SIGINT)
	// The first signal has arrived once the run collects its files. Healing takes longer than this.
	begun := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for c.alive() && time.Since(begun) < awaitCap {
		<-tick.C
		_ = c.Process.Signal(syscall.SIGINT) // it may have ended
	}
	if code := c.awaitEnd(t); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	t.Logf("aborted after %v", time.Since(begun))
	// A run that ends in order after the first signal records its end, and has the same exit code.
	w := newFollower(c.dir)
	defer w.Close()
	if w.seen(t, func(e history.Event) bool { return e.Op == history.OpEnd }) {
		t.Error("the run recorded its end, so the second signal did not abort it")
	}
	c.wantPartial(t)
	labtest.AwaitGone(t, c.lab, c.volumes, goneCap)
}

// alive reports whether the process still runs.
func (c *command) alive() bool {
	select {
	case how := <-c.done:
		c.done <- how
		return false
	default:
		return true
	}
}

// wantPartial judges and draws the run directory of a harness that was killed.
func (c *command) wantPartial(t *testing.T) {
	t.Helper()
	if r := readResult(t, c.dir); !r.Partial {
		t.Error("result.json of a killed run does not say partial")
	}
	if code, out := runToEnd(t, "check", c.dir); code != 6 && code != 3 || !strings.Contains(out, "(partial run)") {
		t.Errorf("check: exit code %d, want 6 or 3, and that it is partial:\n%s", code, out)
	}
	if code, out := runToEnd(t, "report", c.dir); code != 0 || !strings.Contains(out, "(partial run)") {
		t.Errorf("report: exit code %d: %q", code, out)
	}
	if r := readResult(t, c.dir); !r.Partial || r.Verdict == evidence.Pass {
		t.Errorf("result.json: partial %v, verdict %s", r.Partial, r.Verdict)
	}
}

// --json prints the result and nothing else, whatever the verdict, and check exits with the code of the run.
func TestJSON(t *testing.T) {
	suite.Nightly(t, "a lab of its own; the scripts of the command line print the result of a recorded run")
	t.Parallel()
	c := begin(t, with("recipe: none", "clients: 4", "duration: 1s"), "--json")
	if code := c.awaitEnd(t); code != 3 {
		t.Errorf("exit code %d, want 3: there was no lock", code)
	}
	var printed result.Result
	dec := json.NewDecoder(strings.NewReader(c.text(t, c.out)))
	if err := dec.Decode(&printed); err != nil {
		t.Fatal(err)
	}
	if dec.More() {
		t.Error("there is more on stdout than the result")
	}
	file, err := os.ReadFile(filepath.Join(c.dir, rundir.ResultFile))
	if err != nil || c.text(t, c.out) != string(file) {
		t.Errorf("stdout is not result.json (%v)", err)
	}
	if printed.SchemaVersion != 1 || printed.Verdict != evidence.Fail || printed.Recipe != "none" {
		t.Errorf("result: schema %d, verdict %s, recipe %s", printed.SchemaVersion, printed.Verdict, printed.Recipe)
	}
	if code, out := runToEnd(t, "check", "--json", c.dir); code != 3 || out != string(file) {
		t.Errorf("check: exit code %d and another result", code)
	}
	if o := c.look(t); len(o.Running)+len(o.Networks) > 0 {
		t.Errorf("left behind: %+v", o)
	}
	if err := c.refused(t); err != nil {
		t.Error(err)
	}
}

// refused returns the error of a second run into the same directory.
func (c *command) refused(t *testing.T) error {
	if code, _ := runToEnd(t, "run", "mutex", "--out", c.dir); code != 2 {
		return fmt.Errorf("a second run into the directory: exit code %d, want 2", code)
	}
	return nil
}
