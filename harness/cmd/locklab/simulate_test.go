package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/simulate"
)

// While a simulation lasts, no other process can go on with it. When it was killed, another one can: each seed is there
// once, and comes to the same as in a simulation that nobody disturbed.
func TestKilledSimulation(t *testing.T) {
	dir := t.TempDir()
	killed, whole := filepath.Join(dir, "killed"), filepath.Join(dir, "whole")
	outcomes := filepath.Join(killed, "seeds.jsonl")
	args := []string{"simulate", "--seeds", "1..12", "--out"}
	first := startLocklab(t, nil, nil, nil, append(args, killed)...)
	waitUntil(t, "a seed has been run", func() bool { return lines(outcomes) > 0 })
	if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{append(args, killed), {"simulate", "--resume", killed}} {
		p := startLocklab(t, nil, nil, nil, args...)
		if code := p.end(); code != exitInput || !strings.Contains(p.stderr.String(), "another process works in "+killed) {
			t.Errorf("%v beside the first ends with %d: %s", args, code, p.stderr.String())
		}
	}
	first.interrupt(t, syscall.SIGKILL)
	if n := lines(outcomes); n == 12 {
		t.Fatal("the simulation ended before it was killed")
	}
	f, err := os.OpenFile(outcomes, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(`{"model":4,"seed":1`) // what a killed process may leave
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"simulate", "--resume", killed}, append(args, whole)} {
		if p := startLocklab(t, nil, nil, nil, args...); p.end() != exitOK {
			t.Fatalf("%v: %s", args, p.stderr.String())
		}
	}
	if n := lines(outcomes); n != 12 {
		t.Errorf("%d outcomes", n)
	}
	if diff := cmp.Diff(bySeed(t, whole), bySeed(t, killed)); diff != "" {
		t.Error(diff)
	}
}

// end waits until the process ends, and returns its exit code.
func (p *started) end() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// lines returns how many lines a file has; none if it is not there.
func lines(name string) int {
	text, _ := os.ReadFile(name)
	return bytes.Count(text, []byte("\n"))
}

// bySeed returns what the seeds in a directory came to, but for how long they took.
func bySeed(t *testing.T, dir string) map[uint64]simulate.Outcome {
	t.Helper()
	plan, err := simulate.ReadPlan(dir)
	if err != nil {
		t.Fatal(err)
	}
	all, err := plan.Outcomes(dir)
	if err != nil {
		t.Fatal(err)
	}
	seeds := map[uint64]simulate.Outcome{}
	for _, o := range all {
		o.Took = 0
		seeds[o.Seed] = o
	}
	return seeds
}
