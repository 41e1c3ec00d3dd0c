package serve

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles/agent"
	"locklab/harness/history"
)

// The time that a process uses of the processors grows while it works, and what it started itself is included. A
// process that has ended has none.
func TestProcessorTime(t *testing.T) {
	h := start(t, long)
	used := func() agent.ProcessorTime {
		t.Helper()
		p, err := h.ProcessorTime(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := used(); p.PID != 0 || p.Used != 0 {
		t.Errorf("before the first start: %+v", p)
	}
	h.run("role-parent-of-work")
	pid := h.is(history.ProcessStarted).PID
	eventually(t, "work to take processor time", func() bool { return used().Used >= 50*time.Millisecond })
	if p := used(); p.PID != pid {
		t.Errorf("of process %d, which is %d", p.PID, pid)
	}
	if _, err := h.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.is(history.ProcessExited)
	if p := used(); p.PID != 0 || p.Used != 0 {
		t.Errorf("of a process that has ended: %+v", p)
	}
}

func TestLifecycleOfAProcess(t *testing.T) {
	h := start(t, long)
	if st := h.status(); st.State != "none" || st.PID != 0 || st.Starts != 0 {
		t.Errorf("before the first start: %+v", st)
	}
	clock := history.NewClock()
	last := clock.Now()
	// Every stamp lies between the request and its answer, and so after the one before.
	stamped := func(what string, f func() (agent.Stamp, error)) agent.Stamp {
		t.Helper()
		before := clock.Now()
		st, err := f()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		const slack = int64(time.Microsecond) // the two processes calibrate the same clock separately
		if st.At < before-slack || st.At > clock.Now()+slack || st.At < last-slack {
			t.Errorf("%s at %d is not between %d and %d, after %d", what, st.At, before, clock.Now(), last)
		}
		last = st.At
		return st
	}
	ctx := t.Context()
	stamped("start", func() (agent.Stamp, error) { return h.run("role-sleep"), nil })
	first := h.is(history.ProcessStarted)
	stamped("pause", func() (agent.Stamp, error) { return h.Pause(ctx) })
	if st := h.status(); st.State != history.ProcessStopped || !allStopped(st.PID) {
		t.Errorf("after a pause: %+v, all threads stopped: %v", st, allStopped(st.PID))
	}
	stamped("second pause", func() (agent.Stamp, error) { return h.Pause(ctx) })
	stamped("resume", func() (agent.Stamp, error) { return h.Resume(ctx) })
	if st := h.status(); st.State != history.ProcessContinued || allStopped(st.PID) {
		t.Errorf("after a resume: %+v", st)
	}
	stamped("second resume", func() (agent.Stamp, error) { return h.Resume(ctx) })
	stamped("pause before the kill", func() (agent.Stamp, error) { return h.Pause(ctx) })
	stamped("kill of a stopped process", func() (agent.Stamp, error) { return h.Kill(ctx) })
	if st := h.status(); st.State != history.ProcessExited || st.Exit != "killed" || lives(first.PID) {
		t.Errorf("after a kill: %+v", st)
	}
	stamped("restart", func() (agent.Stamp, error) { return h.Restart(ctx) })
	if st := h.status(); st.State != history.ProcessStarted || st.Starts != 2 || st.PID == first.PID || st.Exit != "" {
		t.Errorf("after a restart: %+v", st)
	}
	stamped("stop", func() (agent.Stamp, error) { return h.Stop(ctx) })
	if st := h.status(); st.State != history.ProcessExited || st.Exit != "terminated" {
		t.Errorf("after a stop: %+v", st)
	}
	var told []string
	for _, e := range h.events() {
		if e.Op != history.OpProcess || e.Process != "h1" || e.Value == 0 {
			t.Errorf("unexpected event %v", e)
		}
		told = append(told, strings.TrimSpace(string(e.ProcessChange().State)+" "+e.ProcessChange().Detail))
	}
	const stopped = "stopped stopped (signal)"
	want := []string{"started", stopped, "continued", stopped, "exited killed", "started", "exited terminated"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
}

func TestWithoutAProcess(t *testing.T) {
	h := start(t, long)
	ctx := t.Context()
	refused := func(when string) {
		t.Helper()
		for name, f := range map[string]func() (agent.Stamp, error){
			"pause":  func() (agent.Stamp, error) { return h.Pause(ctx) },
			"resume": func() (agent.Stamp, error) { return h.Resume(ctx) },
			"kill":   func() (agent.Stamp, error) { return h.Kill(ctx) },
			"stop":   func() (agent.Stamp, error) { return h.Stop(ctx) },
			"input":  func() (agent.Stamp, error) { return h.Input(ctx, "x") },
		} {
			if _, err := f(); !errors.Is(err, agent.ErrNoProcess) {
				t.Errorf("%s %s: %v", name, when, err)
			}
		}
	}
	refused("before the first start")
	if _, err := h.Restart(ctx); err == nil {
		t.Error("restarted a process that had never run")
	}
	if _, err := h.Start(ctx, agent.Spec{Argv: []string{"/no/such/program"}, Dir: "p"}); err == nil {
		t.Error("started a program that does not exist")
	}
	if st := h.status(); st.State != "none" {
		t.Errorf("after a failed start: %+v", st)
	}
	h.run("role-fail")
	if st := h.is(history.ProcessExited); st.Exit != "exit status 3" {
		t.Errorf("exit: %q", st.Exit)
	}
	refused("after its end")
}

// Of many simultaneous starts, exactly one succeeds.
func TestOnlyOneProcessRuns(t *testing.T) {
	h := start(t, long)
	var started atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := h.Start(t.Context(), agent.Spec{Argv: []string{"locklab", "role-sleep"}, Dir: "p"}); err == nil {
				started.Add(1)
			} else if !strings.Contains(err.Error(), "still running") {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if st := h.status(); started.Load() != 1 || st.Starts != 1 || st.State != history.ProcessStarted {
		t.Errorf("%d starts succeeded: %+v", started.Load(), st)
	}
}

func TestAProcessThatStopsItselfIsNoticed(t *testing.T) {
	h := start(t, long)
	h.run("role-stops-itself")
	input := func() {
		t.Helper()
		if _, err := h.Input(t.Context(), "stop"); err != nil {
			t.Fatal(err)
		}
	}
	stops := 0
	stoppedAgain := func() {
		t.Helper()
		stops++
		h.log(stops)
		h.is(history.ProcessStopped)
	}
	resume := func() {
		t.Helper()
		if _, err := h.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		input()
		stoppedAgain()
		// The next line is in the pipe already, so the process stops again as soon as it continues. The resume
		// succeeds all the same.
		input()
		resume()
		stoppedAgain()
		resume()
	}
}

func TestDescendantsEndWithTheProcess(t *testing.T) {
	for name, end := range map[string]func(h *host) error{
		"killed":  func(h *host) error { _, err := h.Kill(t.Context()); return err },
		"stopped": func(h *host) error { _, err := h.Stop(t.Context()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, long)
			h.run("role-parent")
			child, err := strconv.Atoi(h.log(1)[0])
			if err != nil {
				t.Fatal(err)
			}
			if !lives(child) {
				t.Fatal("the child does not live")
			}
			if err := end(h); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the child to end", func() bool { return !lives(child) })
		})
	}
	t.Run("by itself", func(t *testing.T) {
		h := start(t, long)
		h.run("role-parent", "and end")
		child, err := strconv.Atoi(h.log(1)[0])
		if err != nil {
			t.Fatal(err)
		}
		h.is(history.ProcessExited)
		eventually(t, "the child to end", func() bool { return !lives(child) })
	})
}

// A pause also stops the processes that the process started.
func TestAPauseStopsDescendants(t *testing.T) {
	h := start(t, long)
	h.run("role-parent")
	child, err := strconv.Atoi(h.log(1)[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !allStopped(child) {
		t.Error("the child still runs after the pause")
	}
}

// A process that is about to execute a program in a child can be stopped at every instant. Its parent waits for it in
// the kernel then.
func TestAPauseInTheMiddleOfAFork(t *testing.T) {
	h := start(t, long)
	h.run("role-forks")
	h.log(1)
	for range 100 {
		if _, err := h.Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Resume(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOrphansAreReaped(t *testing.T) {
	h := start(t, long)
	h.run("role-orphan")
	pid, err := strconv.Atoi(h.log(1)[0])
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "no zombie", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
		return errors.Is(err, os.ErrNotExist)
	})
	if st := h.is(history.ProcessExited); st.Exit != "exit status 0" {
		t.Errorf("the orphan's end was recorded as the process's: %+v", st)
	}
}

func TestAStopEscalates(t *testing.T) {
	t.Run("ignored", func(t *testing.T) {
		h := start(t, long)
		h.run("role-stubborn")
		h.log(1)
		if _, err := h.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := h.status(); st.Exit != "killed" {
			t.Errorf("exit: %q", st.Exit)
		}
	})
	// A stopped process gets SIGTERM at once, not only when it is continued.
	t.Run("process is stopped", func(t *testing.T) {
		h := start(t, long)
		h.run("role-sleep")
		if _, err := h.Pause(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := h.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if st := h.status(); st.Exit != "terminated" {
			t.Errorf("exit: %q", st.Exit)
		}
	})
}

func TestARestartWritesTheFilesAgain(t *testing.T) {
	h := start(t, long)
	spec := agent.Spec{Argv: []string{"locklab", "role-sleep"}, Dir: "p", Files: map[string]string{"config": "as told"}}
	if _, err := h.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	name := h.root + "/p/config"
	if err := os.WriteFile(name, []byte("broken"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "as told" {
		t.Errorf("config: %q, %v", b, err)
	}
}

func TestStateOfAProcess(t *testing.T) {
	for stat, want := range map[string]byte{
		"1 (java) S 0 1": 'S', "7 (a) b) T 1": 'T', "7 (x y) Z 1": 'Z', "7 (cut": 0, "": 0, "7 (a)": 0, "7 (a) ": 0,
	} {
		if got := stateOf(stat); got != want {
			t.Errorf("stateOf(%q) = %q, want %q", stat, got, want)
		}
	}
}
