package apart

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Tick is the servers' tick.
const Tick = 200 * time.Millisecond

// A Lab is an ensemble of three servers. Its methods may be called from any goroutine.
type Lab struct {
	// Servers are the servers' addresses, the leader's first.
	Servers []string

	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// A hello is the first line of a keeper: the servers, or why there are none.
type hello struct {
	Servers []string
	Skip    string // the machine lacks what a lab needs
}

// start starts a keeper with so many ticks of the sync limit; 0 = the usual one.
func start(syncLimit int) (*Lab, hello, error) {
	l := &Lab{cmd: exec.Command("go", "run", "-trimpath", "locklab/ensembles/labtest/apart/keeper", fmt.Sprint(syncLimit))}
	var told bytes.Buffer
	l.cmd.Env, l.cmd.Stderr = append(os.Environ(), "CGO_ENABLED=0"), io.MultiWriter(os.Stderr, &told)
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, hello{}, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, hello{}, err
	}
	l.out = bufio.NewReader(out)
	if err := l.cmd.Start(); err != nil {
		return nil, hello{}, err
	}
	var h hello
	line, err := l.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &h)
	}
	if err != nil {
		return nil, hello{}, errors.Join(fmt.Errorf("the keeper said %q: %w", line, err), l.Close(),
			errors.New(told.String())) // Close has waited for all of it
	}
	l.Servers = h.Servers
	return l, h, nil
}

// Close removes the ensemble.
func (l *Lab) Close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.in.Close(), l.cmd.Wait())
}

// Start returns an ensemble that is removed after the test. The test is skipped with -short, and where there can be no
// lab unless labs are required.
func Start(t testing.TB, syncLimit int) *Lab {
	t.Helper()
	if testing.Short() {
		t.Skip("needs ZooKeeper")
	}
	l, h, err := start(syncLimit)
	switch {
	case err != nil:
		t.Fatal(err)
	case h.Skip != "":
		t.Skip(errors.Join(errors.New(h.Skip), l.Close()))
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Pause stops a server's process, and Resume lets it go on. Cut cuts a server off from the others, and Heal ends that.
func (l *Lab) Pause(t testing.TB, server string)  { t.Helper(); l.order(t, "pause", server) }
func (l *Lab) Resume(t testing.TB, server string) { t.Helper(); l.order(t, "resume", server) }
func (l *Lab) Cut(t testing.TB, server string)    { t.Helper(); l.order(t, "cut", server) }
func (l *Lab) Heal(t testing.TB, server string)   { t.Helper(); l.order(t, "heal", server) }

func (l *Lab) order(t testing.TB, verb, server string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := fmt.Fprintln(l.in, verb, server)
	said := ""
	if err == nil {
		said, err = l.out.ReadString('\n')
	}
	if said = strings.TrimSpace(said); err != nil || said != "ok" {
		t.Fatalf("%s %s: %s %v", verb, server, said, err)
	}
}

// perPackageServes is for how long a shared ensemble does without one of its servers. No test of it disturbs servers,
// so what stands still for seconds is the machine, and an election would be a fault that no test asked for.
const perPackageServes = 10 * time.Second

// A PerPackage is the [Lab] that all tests of a package use. The first test that asks for it starts it. Its zero value
// is ready to use; a package keeps one in a variable and calls Main in TestMain.
type PerPackage struct {
	mu   sync.Mutex
	lab  *Lab
	skip string
}

// Servers returns the addresses of a real ensemble. With -short the test is skipped.
func (p *PerPackage) Servers(t testing.TB) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs ZooKeeper")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lab == nil && p.skip == "" {
		l, h, err := start(int(perPackageServes / Tick))
		if err != nil {
			t.Fatal(err)
		}
		p.lab, p.skip = l, h.Skip
	}
	if p.skip != "" {
		t.Skip(p.skip)
	}
	return p.lab.Servers
}

// Main runs the tests, then whatever else must end, and ends the process. Leaks, if not nil, looks for goroutines that
// are left once the ensemble is gone.
func (p *PerPackage) Main(m *testing.M, leaks func() error, others ...func()) {
	code := m.Run()
	for _, end := range others {
		end()
	}
	err := p.lab.Close()
	if err == nil && leaks != nil {
		err = leaks()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
