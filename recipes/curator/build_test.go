package curator_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/labtest/curatortest"
	"locklab/recipes/curator"
)

// The driver is compiled only once. Started without arguments, it prints its usage.
func TestBuild(t *testing.T) {
	jars := curatortest.Require(t, "")
	dir := t.TempDir()
	jar, err := curator.Build(t.Context(), dir, jars)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(jar)
	if err != nil {
		t.Fatal(err)
	}
	again, err := curator.Build(t.Context(), dir, jars)
	if err != nil || again != jar {
		t.Errorf("built again: %s, %v", again, err)
	}
	if after, err := os.Stat(jar); err != nil || !os.SameFile(before, after) {
		t.Errorf("compiled twice: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	cmd := exec.Command("java", "-cp", strings.Join(append(jars, jar), ":"), curator.Main, "curator-frob")
	out, err := cmd.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 2 ||
		!strings.Contains(
			string(out),
			"curator-mutex, curator-semaphore-mutex, curator-rw, curator-multi, curator-semaphore",
		) {
		t.Errorf("usage: %v\n%s", err, out)
	}
}

// An error about missing jars names them, and says how to get them.
func TestMissing(t *testing.T) {
	t.Setenv(curator.EnvJars, filepath.Join(t.TempDir(), "nowhere"))
	if _, err := curator.Jars(""); !errors.Is(err, curator.ErrMissing) || !strings.Contains(err.Error(), curator.EnvJars) {
		t.Errorf("got %v", err)
	}
	empty := t.TempDir()
	t.Setenv(curator.EnvJars, empty)
	if _, err := curator.Jars(""); !errors.Is(err, curator.ErrMissing) || !strings.Contains(err.Error(), "no jars") {
		t.Errorf("got %v", err)
	}
	jar := filepath.Join(empty, "curator.jar")
	if err := os.WriteFile(jar, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if jars, err := curator.Jars(""); err != nil || len(jars) != 1 || jars[0] != jar {
		t.Errorf("got %v, %v", jars, err)
	}
	t.Setenv("PATH", empty)
	if _, err := curator.Build(context.Background(), t.TempDir(), nil); !errors.Is(err, curator.ErrMissing) ||
		!strings.Contains(err.Error(), "make curator") {
		t.Errorf("without a compiler: %v", err)
	}
}
