package curator

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// EnvRequire makes a missing Curator a failure instead of a skip, as under CI.
const EnvRequire = "REQUIRE_DOCKER"

// need skips the test where Curator cannot be run.
func need(t *testing.T) []string {
	t.Helper()
	jars, err := Jars()
	if err == nil {
		_, err = exec.LookPath("javac")
	}
	switch {
	case err == nil:
	case os.Getenv(EnvRequire) == "1":
		t.Fatal(err)
	default:
		t.Skipf("needs Curator and javac: %v", err)
	}
	return jars
}

// The driver compiles, once, and says what it is for if it is started without purpose.
func TestBuild(t *testing.T) {
	jars := need(t)
	dir := t.TempDir()
	jar, err := Build(t.Context(), dir, jars)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(jar)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Build(t.Context(), dir, jars)
	if err != nil || again != jar {
		t.Errorf("built again: %s, %v", again, err)
	}
	if after, err := os.Stat(jar); err != nil || !os.SameFile(before, after) {
		t.Errorf("compiled twice: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	cmd := exec.Command("java", "-cp", strings.Join(append(jars, jar), ":"), Main, "curator-frob")
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 2 || !strings.Contains(string(out), "curator-mutex, curator-semaphore-mutex, curator-rw, curator-multi, curator-semaphore") {
		t.Errorf("usage: %v\n%s", err, out)
	}
}

// Jars that are not there are named, and so is how to get them.
func TestMissing(t *testing.T) {
	t.Setenv(EnvJars, filepath.Join(t.TempDir(), "nowhere"))
	if _, err := Jars(); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), EnvJars) {
		t.Errorf("got %v", err)
	}
	empty := t.TempDir()
	t.Setenv(EnvJars, empty)
	if _, err := Jars(); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "no jars") {
		t.Errorf("got %v", err)
	}
	jar := filepath.Join(empty, "curator.jar")
	if err := os.WriteFile(jar, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if jars, err := Jars(); err != nil || len(jars) != 1 || jars[0] != jar {
		t.Errorf("got %v, %v", jars, err)
	}
	t.Setenv("PATH", empty)
	if _, err := Build(context.Background(), t.TempDir(), nil); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "make curator") {
		t.Errorf("without a compiler: %v", err)
	}
}
