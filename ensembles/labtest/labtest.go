// Package labtest gives tests a real lab: containers from the image that `make image` leaves, with an ensemble in them.
//
// In flow: the hosts that a test needs. Out flow: a lab that is removed at the test's end, and a list of whatever a lab
// has left on the machine or in the engine.
//
// Without a Docker engine or an image, tests that ask for a lab are skipped. With REQUIRE_DOCKER=1, as under CI, they
// fail instead. With -short they are always skipped.
package labtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/labs"
	"locklab/ensembles/labtest/suite"
)

// EnvKind is the environment variable that names the kind of lab that tests start; without it they start containers.
const EnvKind = "LOCKLAB_TEST_LAB"

// Kind returns the name of the kind of lab that tests start.
func Kind() string { return cmp.Or(os.Getenv(EnvKind), ensembles.LabDocker) }

// RequireKind skips a test that needs labs of that kind unless tests start such labs. `make test-kubernetes` says so of
// a cluster that is for tests.
func RequireKind(t testing.TB, kind ensembles.Kind) {
	t.Helper()
	if Kind() != kind.Name() {
		t.Skipf("needs a lab of kind %s, and %s=%s", kind.Name(), EnvKind, kind.Name())
	}
}

// Require skips the test, or fails it, if there is no engine or no image. With -short it always skips the test.
func Require(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a lab")
	}
	switch lacks, err := Lacks(t.Context()); {
	case err != nil:
		t.Fatal(err)
	case lacks != "":
		t.Skip(lacks)
	}
}

// Lacks says what this machine lacks for a lab; "" if nothing. An error says that labs are required, or what is wrong.
func Lacks(ctx context.Context) (string, error) {
	if Kind() != ensembles.LabDocker {
		return "", nil
	}
	err := labs.CheckImage(ctx)
	switch {
	case err == nil:
		return "", nil
	case suite.Required():
		return "", fmt.Errorf("a Docker engine and an image are required: %w", err)
	case labs.Unavailable(err):
		return fmt.Sprintf("needs a Docker engine and an image: %v", err), nil
	}
	return "", err
}

// Log returns a logger that writes to the output of the test.
func Log(t testing.TB) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// Start makes a lab for the test and removes it at its end.
func Start(t testing.TB, hosts ...ensembles.HostSpec) *ensembles.Lab {
	t.Helper()
	Require(t)
	lab, err := labs.Start(t.Context(), Kind(), ensembles.LabConfig{Hosts: hosts, Binary: Binary(t), Log: Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := lab.Close(ctx); err != nil {
			t.Errorf("close lab: %v", err)
		}
	})
	return lab
}

// ServerConfig returns the configuration of test ensembles. Its tick is short, so that sessions can be short.
func ServerConfig() ensembles.ServerConfig {
	const tick = 200 * time.Millisecond
	return ensembles.ServerConfig{Tick: tick, SyncLimit: 5,
		MinSessionTimeout: 2 * tick, MaxSessionTimeout: 300 * tick, HeapBytes: 256 << 20}
}

// StartEnsemble starts an ensemble on the lab's server hosts.
func StartEnsemble(t testing.TB, lab *ensembles.Lab) *ensembles.Ensemble {
	t.Helper()
	e, err := ensembles.StartEnsemble(t.Context(), lab, ServerConfig())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A Shared is an ensemble that the tests of a package share: three servers whose client ports are published on
// 127.0.0.1.
type Shared struct {
	lab      *ensembles.Lab
	Ensemble *ensembles.Ensemble
}

// Servers returns the addresses of the servers of the shared ensemble, as host:port.
func (s *Shared) Servers() []string {
	var all []string
	for _, h := range s.Ensemble.Servers {
		all = append(all, h.Published.String())
	}
	return all
}

// Close removes the shared ensemble. It is for TestMain, after the tests.
func (s *Shared) Close() error {
	if s == nil || s.lab == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return s.lab.Close(ctx)
}

// StartShared makes an ensemble that outlives the test. The caller closes it in TestMain.
func StartShared(t testing.TB) *Shared {
	t.Helper()
	Require(t)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := NewShared(ctx, ServerConfig())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// NewShared makes an ensemble of three servers. The caller closes it.
func NewShared(ctx context.Context, cfg ensembles.ServerConfig) (*Shared, error) {
	var hosts []ensembles.HostSpec
	for i := range 3 {
		hosts = append(hosts, ensembles.HostSpec{Name: fmt.Sprintf("zk%d", i+1), Publish: true})
	}
	program, err := binary()
	if err != nil {
		return nil, err
	}
	lab, err := labs.Start(ctx, Kind(),
		ensembles.LabConfig{Hosts: hosts, Binary: program, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	s := &Shared{lab: lab}
	if s.Ensemble, err = ensembles.StartEnsemble(ctx, lab, cfg); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
