package bench

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/harness"
)

// slowBinary builds a locklab whose queues hand off later by a time, such as 400us.
func slowBinary(t testing.TB, by string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "slow")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "locklab_slow", "-ldflags", "-X locklab/recipes.slowBy="+by, "-o", file, "locklab/harness/cmd/locklab")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return file
}

// symbols lists what a binary consists of.
func symbols(t *testing.T, file string) string {
	t.Helper()
	out, err := exec.Command("go", "tool", "nm", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The delay that shows that the gate goes red is in no binary but those made for it.
func TestOnlyASlowBuildIsSlow(t *testing.T) {
	const delay = "locklab/recipes.slowness"
	if strings.Contains(symbols(t, labtest.Binary(t)), delay) {
		t.Error("the usual build can be slow")
	}
	slow := slowBinary(t, "400us")
	if !strings.Contains(symbols(t, slow), delay) {
		t.Error("the slow build has no " + delay + ", so this test would not see it elsewhere")
	}
	if err := harness.CheckClients(t.Context(), "--vs-binary", slow); err != nil {
		t.Error(err)
	}
}

// What is no locklab, cannot run on a host or speaks otherwise is refused, by the flag's name.
func TestCheckClients(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", other, source).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"nowhere/locklab": "no such file",
		source:            "a locklab binary, as make build writes it",
		other:             "is a binary of command-line-arguments",
		self:              "is a binary of locklab/harness/bench.test",
	} {
		err := harness.CheckClients(t.Context(), "--vs-binary", file)
		if err == nil || !strings.HasPrefix(err.Error(), "--vs-binary: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(harness.ErrInterrupted)
	if err := harness.CheckClients(ended, "--vs-binary", labtest.Binary(t)); err != harness.ErrInterrupted {
		t.Errorf("interrupted: %v", err)
	}
}
