package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"locklab/harness/console"
	"locklab/harness/run"
)

// A started is a process of locklab that runs in its own directory.
type started struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan error
}

// startLocklab starts locklab. It does not end by itself within the test.
func startLocklab(t *testing.T, env []string, stdin io.Reader, stdout *os.File, args ...string) *started {
	t.Helper()
	return startProgram(t, "locklab", env, stdin, stdout, args...)
}

// startProgram starts this binary under one of the names that TestMain knows.
func startProgram(t *testing.T, name string, env []string, stdin io.Reader, stdout *os.File, args ...string) *started {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	p := &started{cmd: exec.CommandContext(t.Context(), program, args...), ended: make(chan error, 1)}
	p.cmd.Dir, p.cmd.Env = t.TempDir(), append(os.Environ(), env...)
	p.cmd.Stdin, p.cmd.Stderr = stdin, &p.stderr
	if stdout != nil {
		p.cmd.Stdout = stdout
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	return p
}

// interrupt sends a signal and returns the exit code. The process has ten seconds to end.
func (p *started) interrupt(t *testing.T, sig os.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.ended:
		_, ok := errors.AsType[*exec.ExitError](err)
		if err != nil && !ok {
			t.Fatal(err)
		}
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(10 * time.Second):
		t.Fatalf("%v does not end locklab within 10 s", sig)
		return 0
	}
}

// stubborn is a program that goes on after the first signal, like a run that heals and collects. It writes one line
// when it is ready for signals, and one after the first.
func stubborn() {
	ctx, stop := interruptible()
	defer stop()
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println(context.Cause(ctx))
	select {}
}

// The first signal cancels the context, and the second ends the process at once, whichever of the two each is.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	for _, first := range endingSignals {
		for _, second := range endingSignals {
			t.Run(first.String()+" "+second.String(), func(t *testing.T) {
				r, w, err := os.Pipe()
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				p := startProgram(t, "stubborn", nil, nil, w)
				w.Close()
				lines := bufio.NewScanner(r)
				if !lines.Scan() || lines.Text() != "ready" {
					t.Fatalf("it begins with %q", lines.Text())
				}
				if err := p.cmd.Process.Signal(first); err != nil {
					t.Fatal(err)
				}
				if !lines.Scan() || lines.Text() != run.ErrInterrupted.Error() {
					t.Fatalf("after the first signal it writes %q", lines.Text())
				}
				if code := p.interrupt(t, second); code != exitInterrupted {
					t.Errorf("exit code %d", code)
				}
			})
		}
	}
}

var endingSignals = []os.Signal{syscall.SIGINT, syscall.SIGTERM}

// Either signal ends a command that waits for its standard input.
func TestSignalWhileReadingStandardInput(t *testing.T) {
	for _, sig := range endingSignals {
		t.Run(sig.String(), func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			defer r.Close()
			if _, err := w.WriteString("name: half\n"); err != nil {
				t.Fatal(err)
			}
			p := startLocklab(t, nil, r, nil, "run", "--print-config", "-")
			waitUntil(t, "locklab has read what there is", func() bool { return unread(t, r) == 0 })
			if code := p.interrupt(t, sig); code != exitInterrupted {
				t.Errorf("exit code %d\n%s", code, p.stderr.String())
			}
		})
	}
}

// unread returns how many bytes a pipe holds.
func unread(t *testing.T, r *os.File) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within 20 s", what)
		}
	}
}

// Either signal ends a command that blocks because nobody reads its output.
func TestSignalWhilePrinting(t *testing.T) {
	for _, sig := range endingSignals {
		t.Run(sig.String(), func(t *testing.T) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			size, err := unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize())
			if err != nil {
				t.Fatal(err)
			}
			p := startLocklab(t, nil, nil, w, "scenarios", "schema")
			w.Close()
			waitUntil(t, "the pipe is full", func() bool { return unread(t, r) == size })
			if code := p.interrupt(t, sig); code != exitInterrupted {
				t.Errorf("exit code %d\n%s", code, p.stderr.String())
			}
		})
	}
}

// silentEngine starts an engine that accepts connections and never answers. It returns the engine's address and the
// number of connections so far.
func silentEngine(t *testing.T) (address string, taken func() int) {
	t.Helper()
	dir, err := os.MkdirTemp("", "engine") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	connections := make(chan net.Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			connections <- c
		}
	}()
	return "unix://" + l.Addr().String(), func() int { return len(connections) }
}

// Either signal ends every command that waits for an engine that does not answer.
func TestSignalWhileWaitingForDocker(t *testing.T) {
	for _, args := range [][]string{
		{"run"}, {"demo"}, {"sweep", "--param", "clients=1,2"}, {"bench"}, {"image"}, {"clean"}, {"doctor"},
	} {
		for _, sig := range endingSignals {
			t.Run(args[0]+" "+sig.String(), func(t *testing.T) {
				t.Parallel()
				engine, taken := silentEngine(t)
				p := startLocklab(t, []string{"DOCKER_HOST=" + engine, "ZOOKEEPER_HOME=/nonexistent"}, nil, nil, args...)
				waitUntil(t, "locklab asks the engine", func() bool { return taken() > 0 })
				if code := p.interrupt(t, sig); code != exitInterrupted {
					t.Errorf("exit code %d\n%s", code, p.stderr.String())
				}
			})
		}
	}
}

// A command that takes no context is left at once when the context ends, and a panic in one keeps its stack.
func TestUntilInterrupted(t *testing.T) {
	parser, err := newParser(console.Streams{Out: io.Discard, Err: io.Discard}, false)
	if err != nil {
		t.Fatal(err)
	}
	for args, takes := range map[string]bool{
		"run": true, "demo": true, "sweep": true, "bench": true, "clean": true, "doctor": true, "image": true,
		"check x": false, "report x": false, "compare x y": false, "plan x": false, "advise --pauses x": false,
		"scenarios list": false,
	} {
		c, err := parser.Parse(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		if got := takesContext(c.Selected()); got != takes {
			t.Errorf("%s: takes a context: %v, want %v", args, got, takes)
			continue
		}
		if takes {
			continue
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		release := make(chan struct{})
		time.AfterFunc(10*time.Millisecond, func() { cancel(run.ErrInterrupted) })
		err = untilInterrupted(ctx, c.Selected(), func() error { <-release; return nil })
		if !errors.Is(err, run.ErrInterrupted) {
			t.Errorf("%s: %v", args, err)
		}
		close(release)
	}
}
