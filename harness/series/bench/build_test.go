package bench

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"locklab/ensembles/labtest"
	"locklab/harness/run"
	"locklab/workloads/lock"
)

// slowRecipe is the negative control of the gate, a mutex whose holders release late.
const slowRecipe = lock.ControlPrefix + "slow-release"

// slowBinary builds another locklab, in which the holders of slowRecipe release later by a time, such as 400us.
func slowBinary(t testing.TB, by string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "slow")
	// The tag changes no code. It shows in the description of the binary that it is this one.
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags", "locklab_slow",
		"-ldflags", "-X locklab/recipes/broken.slowReleaseBy="+by, "-o", file, "locklab/harness/cmd/locklab")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return file
}

// Another build of this program is accepted as the clients of the second side.
func TestAnotherBuildIsAccepted(t *testing.T) {
	if err := run.CheckClients(t.Context(), "--vs-binary", slowBinary(t, "400us")); err != nil {
		t.Error(err)
	}
}

// A file that is not locklab, cannot run on a host or speaks another protocol is refused with the name of the flag.
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
		self:              "is a binary of locklab/harness/series/bench.test",
	} {
		err := run.CheckClients(t.Context(), "--vs-binary", file)
		if err == nil || !strings.HasPrefix(err.Error(), "--vs-binary: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(run.ErrInterrupted)
	if err := run.CheckClients(ended, "--vs-binary", labtest.Binary(t)); err != run.ErrInterrupted {
		t.Errorf("interrupted: %v", err)
	}
}
