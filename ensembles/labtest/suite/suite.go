// Package suite says which tests run when, and what a test does if the machine lacks a tool. It links nothing, so that
// the tests of every package can use it.
//
// In flow: a test, and the environment. Out flow: the test goes on, or is skipped for a reason that the last line of
// `make test` counts.
package suite

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// EnvAll is the environment variable that makes nightly tests run, with the value 1. `make test-all` sets it.
const EnvAll = "LOCKLAB_TEST_ALL"

// EnvRequire is the environment variable that turns a missing tool, Docker engine or image from a skip into a failure,
// with the value 1. CI sets it.
const EnvRequire = "REQUIRE_DOCKER"

// NightlyPrefix begins the reason why a nightly test is skipped.
const NightlyPrefix = "nightly: "

// All reports whether nightly tests run, too.
func All() bool { return os.Getenv(EnvAll) == "1" }

// Required reports whether a test must fail where the machine lacks something that it needs.
func Required() bool { return os.Getenv(EnvRequire) == "1" }

// Nightly skips a test that `make test-all` runs and `make test` does not, as it does with -short. The reason says what
// covers its subject in `make test`.
func Nightly(t testing.TB, reason string) {
	t.Helper()
	if !All() || testing.Short() {
		t.Skip(NightlyPrefix + reason)
	}
}

// Tool returns the path of a program that a test needs. If the machine lacks it, the test is skipped, or fails with
// [Required], and says which target of make installs the program.
func Tool(t testing.TB, program, target string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		Missing(t, program, target, err)
	}
	return path
}

// Missing is what [Tool] does for whatever a test lacks that is no program. The error may be nil.
func Missing(t testing.TB, what, target string, err error) {
	t.Helper()
	reason := fmt.Sprintf("needs %s; install it with: make %s", what, target)
	if err != nil && !errors.Is(err, exec.ErrNotFound) {
		reason += " (" + strings.TrimSpace(err.Error()) + ")"
	}
	if Required() {
		t.Fatal(reason)
	}
	t.Skip(reason)
}
