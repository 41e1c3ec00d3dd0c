package labtest

import (
	"debug/elf"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"locklab/ensembles"
	"locklab/ensembles/labtest/suite"
)

// A spy is a test that records how it ended.
type spy struct {
	testing.TB
	ended string
}

func (s *spy) end(how string) {
	s.ended = how
	runtime.Goexit()
}

func (s *spy) Fatal(args ...any)            { s.end("fatal " + fmt.Sprint(args...)) }
func (s *spy) Fatalf(f string, args ...any) { s.end("fatal " + fmt.Sprintf(f, args...)) }
func (s *spy) Skip(args ...any)             { s.end("skip " + fmt.Sprint(args...)) }
func (s *spy) Skipf(f string, args ...any)  { s.end("skip " + fmt.Sprintf(f, args...)) }

// requires returns how a test that requires a lab ends, or "" if it goes on.
func requires(t *testing.T) string {
	t.Helper()
	s := &spy{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		Require(s)
	}()
	<-done
	return s.ended
}

// Without an engine tests are skipped, and with REQUIRE_DOCKER=1 they fail.
func TestRequire(t *testing.T) {
	if testing.Short() {
		t.Skip("with -short all tests are skipped")
	}
	t.Setenv("DOCKER_HOST", "unix:///nonexistent")
	for require, want := range map[string]string{"": "skip ", "0": "skip ", "1": "fatal "} {
		t.Setenv(suite.EnvRequire, require)
		if got := requires(t); !strings.HasPrefix(got, want) || !strings.Contains(got, "no Docker engine answers") {
			t.Errorf("%s=%q: %q, want %q", suite.EnvRequire, require, got, want)
		}
	}
}

func TestTheBinaryIsStatic(t *testing.T) {
	if testing.Short() {
		t.Skip("builds locklab")
	}
	path := Binary(t)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary is dynamically linked")
		}
	}
	if again := Binary(t); again != path {
		t.Errorf("built twice: %s, %s", path, again)
	}
}

func TestStart(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a container")
	}
	var lab *ensembles.Lab
	t.Run("lab", func(t *testing.T) {
		lab = Start(t, ensembles.HostSpec{Name: "c1", Role: ensembles.Client})
		if _, err := lab.Host("c1").Agent.Status(t.Context()); err != nil {
			t.Error(err)
		}
		if lab.Host("c2") != nil || len(lab.Hosts(ensembles.Server)) != 0 || len(lab.Hosts(ensembles.Client)) != 1 {
			t.Errorf("hosts: %v", lab.Hosts(ensembles.Server, ensembles.Client))
		}
	})
	if _, err := lab.Host("c1").Agent.Status(t.Context()); err == nil {
		t.Error("the lab outlives its test")
	}
}
