package client

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"locklab/harness/history"
	"locklab/workloads/control"
)

const roleEnv = "LOCKLAB_TEST_ROLE"

// TestMain lets the test of triggers start this binary as the process that stops itself.
func TestMain(m *testing.M) {
	if os.Getenv(roleEnv) == "trigger" {
		os.Exit(stopAtTrigger(os.Args[1]))
	}
	goleak.VerifyTestMain(m)
}

// stopAtTrigger reaches an armed point, and then prints that it went on.
func stopAtTrigger(dir string) int {
	rec, err := history.NewRecorder(dir, "c1", history.NewClock())
	if err != nil {
		panic(err)
	}
	p := &process{rec: rec}
	if err := p.at(control.BetweenReadAndWrite, history.Claim{}, ""); err != nil { // no trigger is armed
		panic(err)
	}
	if err := p.triggers.arm("f1", control.BetweenReadAndWrite, control.StrikeStop); err != nil {
		panic(err)
	}
	if err := p.at(control.BetweenReadAndWrite, history.Claim{Client: "c1/0", Acq: 3, Lock: "/l",
		Token: 9}, ""); err != nil {
		panic(err)
	}
	fmt.Println("went on")
	return 0
}

// A client that reaches an armed point stops its process at that moment, with the event on record, and goes on when
// it is resumed.
func TestTriggerStopsTheProcess(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), roleEnv+"=trigger")
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	said := func() string {
		b, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil)
		if err == nil {
			break
		}
		if err != syscall.EINTR {
			t.Fatal(err)
		}
	}
	if !ws.Stopped() || ws.StopSignal() != syscall.SIGSTOP {
		t.Fatalf("process did not stop itself: %v", ws)
	}
	if s := said(); s != "" {
		t.Errorf("the process was already beyond the point: %s", s)
	}
	events := recorded(t, dir)
	if len(events) != 1 {
		t.Fatalf("recorded %v", events)
	}
	want := history.Event{
		At:      events[0].At,
		Process: "c1",
		Op:      history.OpTrigger,
		Client:  "c1/0",
		Acq:     3,
		Lock:    "/l",
		Token:   9,
		Fault:   "f1",
		Detail:  control.BetweenReadAndWrite,
	}
	if events[0] != want {
		t.Errorf("recorded %v, want %v", events[0], want)
	}
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said(), "went on") {
		t.Errorf("after it was resumed: %v, output %q", err, said())
	}
}
