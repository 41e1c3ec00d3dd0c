package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An event is what test2json prints of a test or, without a Test, of a package.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// A lab is a package whose tests start labs, and the binary of its tests.
type lab struct {
	pkg, dir, binary string
	alone            bool // no other lab may be there
}

// packages returns the packages with tests that patterns match, in their order: first those that run alone.
func packages(ctx context.Context, alone, labs []string) ([]lab, error) {
	var all []lab
	seen := map[string]bool{}
	for i, p := range slices.Concat(alone, labs) {
		const format = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}\t{{.Dir}}{{end}}"
		out, err := exec.CommandContext(ctx, "go", "list", "-f", format, p).Output()
		if err != nil {
			return nil, fmt.Errorf("go list %s: %w", p, err)
		}
		for line := range strings.Lines(string(out)) {
			pkg, dir, ok := strings.Cut(strings.TrimSpace(line), "\t")
			if ok && !seen[pkg] {
				seen[pkg] = true
				all = append(all, lab{pkg: pkg, dir: dir, alone: i < len(alone)})
			}
		}
	}
	return all, nil
}

// build makes the binary of the package's tests in dir.
func (l *lab) build(ctx context.Context, dir string) error {
	l.binary = filepath.Join(dir, strings.ReplaceAll(l.pkg, "/", "-")+".test")
	cmd := asReleased(exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", l.binary, l.pkg))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the tests of %s: %w\n%s", l.pkg, err, out)
	}
	return nil
}

// run runs the tests, and removes the binary.
func (l *lab) run(ctx context.Context, parallel int, take func(event)) error {
	defer os.Remove(l.binary)
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-t", "-p", l.pkg, l.binary, "-test.v=test2json",
		"-test.paniconexit0", "-test.timeout=30m", "-test.parallel="+strconv.Itoa(parallel))
	cmd.Dir = l.dir
	return follow(cmd, 0, take)
}

// leisure is the priority of what has no lab: lower, because a lab's load is measured, and its sessions have timeouts,
// but not the lowest, at which other programs on a busy machine would leave it nothing.
const leisure = 3

// niceness gives a process that priority.
var niceness = "-n" + strconv.Itoa(leisure)

// vet runs go vet on the whole module, at a lower priority.
func vet(ctx context.Context) error {
	cmd := asReleased(exec.CommandContext(ctx, "nice", niceness, "go", "vet", "./..."))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go vet: %w\n%s", err, out)
	}
	return nil
}

// asReleased makes a command of go compile as `make build` does, whose packages are then not compiled again.
func asReleased(cmd *exec.Cmd) *exec.Cmd {
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	return cmd
}

// goTest returns go test with these arguments, at a lower priority. Linking takes half as long without debug
// information. Three packages at once keep two cores busy, because some tests wait.
func goTest(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "nice", append([]string{niceness, "go", "test", "-json", "-vet=off", "-ldflags=-w",
		"-p", "3", "-timeout=30m"}, args...)...)
}

// follow runs a command and takes the events that it prints. That tests fail is no error. The command has a process
// group of its own, because the end of ctx is meant for the process that runs the tests, a descendant of the command.
// It has a session of its own too, of that priority, because Linux divides the processors between sessions, and the
// priorities of processes count within one: in one with dozens of busy processes, the harness of a lab would come
// seconds late.
func follow(cmd *exec.Cmd, priority int, take func(event)) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	// Where sessions have no priority, those of processes have to do.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", cmd.Process.Pid), []byte(strconv.Itoa(priority)), 0)
	seen := 0
	dec := json.NewDecoder(out)
	for err == nil {
		var e event
		if err = dec.Decode(&e); err == nil {
			seen++
			take(e)
		}
	}
	if !errors.Is(err, io.EOF) {
		return errors.Join(fmt.Errorf("%s: %w", cmd, err), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil && (seen == 0 || stderr.Len() > 0) {
		return fmt.Errorf("%s: %w\n%s", cmd, err, stderr.Bytes())
	}
	return nil
}
