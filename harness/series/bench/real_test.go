package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"locklab/ensembles"
	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/rundir"
	"locklab/reports/compare"
	"locklab/reports/result"
)

// command returns the command of a benchmark of short runs. One acquisition is enough for a run, because the number
// depends on the machine.
func command(t *testing.T, out string, args ...string) *exec.Cmd {
	t.Helper()
	if testing.Short() {
		t.Skip("needs an ensemble")
	}
	labtest.Require(t)
	cmd := exec.Command(
		labtest.Binary(t),
		append(
			[]string{
				"bench",
				"mutex-latency",
				"--out",
				out,
				"--warmup",
				"200ms",
				"--duration",
				"700ms",
				"--min-acquired",
				"1",
			},
			args...)...)
	cmd.Stderr = t.Output()
	return cmd
}

// exitCode runs a command and returns its exit code and what it printed.
func exitCode(t *testing.T, cmd *exec.Cmd) (code int, stdout string) {
	t.Helper()
	out, err := cmd.Output()
	exit, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case ok:
		return exit.ExitCode(), string(out)
	case err != nil:
		t.Fatal(err)
	}
	return 0, string(out)
}

func readJSON[T any](t *testing.T, file string) T {
	t.Helper()
	var v T
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A delay in the recipe that only the binary of the second side has is measured pair by pair. The benchmark's
// directory is read by compare, check and benchstat. Whether so few short runs prove the delay depends on how busy
// the machine is, so other tests show that the gate fails: on recorded samples, and in TestSoakGateCurve.
func TestASlowerRecipe(t *testing.T) {
	dir := filepath.Join(t.ArtifactDir(), "bench")
	comment := filepath.Join(t.TempDir(), "comment.md")
	code, stdout := exitCode(
		t,
		command(
			t,
			dir,
			"--count",
			"10",
			"--recipe",
			slowRecipe,
			"--vs-binary",
			slowBinary(t, "5ms"),
			"--write",
			"markdown="+comment,
		),
	)
	report := compareIn(t, dir)
	verdict, known := map[int]compare.Verdict{5: compare.Regressed, 6: compare.Inconclusive}[code]
	if !known || report.Verdict != verdict ||
		!strings.HasPrefix(stdout, fmt.Sprintf("%s: %s\n", verdict, report.Reason)) ||
		!strings.Contains(stdout, "Wilcoxon") {
		t.Fatalf("exit code %d, and the samples are %s: %s\n%s", code, report.Verdict, report.Reason, stdout)
	}
	if report.Verdict == compare.Inconclusive &&
		!slices.ContainsFunc(
			[]string{" is possible, and ", "noise of the machine"},
			func(why string) bool { return strings.Contains(report.Reason, why) },
		) {
		t.Errorf("inconclusive, and not for noise: %s", report.Reason)
	}
	i := slices.IndexFunc(report.Metrics, func(l compare.Line) bool { return l.Name == "handoff.p50" })
	if handoff := report.Metrics[i]; !report.Paired ||
		handoff.BaseMedian == nil ||
		handoff.HeadMedian == nil ||
		*handoff.HeadMedian <= *handoff.BaseMedian {
		t.Errorf("paired %t, %+v", report.Paired, handoff)
	}
	if b, err := os.ReadFile(comment); err != nil || !strings.HasPrefix(string(b), "### locklab: "+string(verdict)) {
		t.Errorf("comment %q, %v", b, err)
	}
	labs := map[string]bool{}
	for side, want := range map[string]string{Base: "", Head: "tags locklab_slow"} {
		for _, at := range glob(t, filepath.Join(dir, side, "*")) {
			env := readJSON[rundir.Env](t, filepath.Join(at, "env.json"))
			if !strings.Contains(env.ClientBinary, want) || (want == "") != (env.ClientBinary == "") {
				t.Errorf("%s ran clients of %q", at, env.ClientBinary)
			}
			labs[env.LabID] = true
			r := readJSON[result.Result](t, filepath.Join(at, "result.json"))
			pair := readJSON[result.Result](t, filepath.Join(dir, Base, filepath.Base(at), "result.json"))
			if r.Seed == 0 || r.Seed != pair.Seed || r.Partial || r.Operations.Acquired == 0 {
				t.Errorf(
					"%s has seed %d, its partner %d; partial %t, %d acquisitions",
					at,
					r.Seed,
					pair.Seed,
					r.Partial,
					r.Operations.Acquired,
				)
			}
		}
		if n := len(glob(t, filepath.Join(dir, side, "*"))); n != 10 {
			t.Errorf("%d runs in %s", n, side)
		}
	}
	if len(labs) != 1 {
		t.Errorf("the sides ran in the labs %v", labs)
	}
	stat := exec.Command(
		"go",
		"run",
		"golang.org/x/perf/cmd/benchstat",
		filepath.Join(dir, "base.txt"),
		filepath.Join(dir, "head.txt"),
	)
	out, err := stat.CombinedOutput()
	if table := string(out); err != nil || !strings.Contains(table, "handoff-p50-sec") ||
		!strings.Contains(table, "n=10") ||
		strings.Contains(table, "skipping") {
		t.Errorf("benchstat: %v\n%s", err, table)
	}
	second := exec.Command(labtest.Binary(t), "compare", filepath.Join(dir, Base), filepath.Join(dir, Head))
	if again, _ := exitCode(t, second); again != code {
		t.Errorf("bench ends with %d, and compare with %d", code, again)
	}
	if code, out := exitCode(t, exec.Command(labtest.Binary(t), "check", filepath.Join(dir, Head, "001"))); code != 0 {
		t.Errorf("check of a sample ends with %d\n%s", code, out)
	}
}

// A violation in head fails the comparison, however fast the lock is.
func TestAViolationInHead(t *testing.T) {
	suite.Nightly(t, "a comparison on servers; TestTheGateOfAForeignRepository has a broken lock")
	dir := filepath.Join(t.ArtifactDir(), "bench")
	code, stdout := exitCode(
		t,
		command(t, dir, "--count", "6", "--vs", "recipe=none", "--section", "counter", "--hold", "1ms"),
	)
	if code != 3 || !strings.HasPrefix(stdout, "violation: ") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

// If the sides differ in a key of the servers, each has a lab of its own, and keys that follow from that key may
// differ too. How the sides compare depends on the machine.
func TestAKeyOfTheServers(t *testing.T) {
	suite.Nightly(t, "a comparison on servers; TestASlowerRecipe makes one, too")
	dir := filepath.Join(t.ArtifactDir(), "bench")
	code, stdout := exitCode(t, command(t, dir, "--count", "6", "--vs", "heap=128MiB"))
	if code != 0 && code != 5 && code != 6 ||
		!strings.Contains(stdout, "differs, as varied: scenario.heap: 256MiB against 128MiB") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	base, head := readJSON[rundir.Env](
		t,
		filepath.Join(dir, Base, "001", "env.json"),
	), readJSON[rundir.Env](
		t,
		filepath.Join(dir, Head, "001", "env.json"),
	)
	if base.LabID == head.LabID || !strings.Contains(strings.Join(head.JavaOptions, " "), "-Xmx128m") {
		t.Errorf("labs %s and %s, head with %v", base.LabID, head.LabID, head.JavaOptions)
	}
}

// A benchmark that is interrupted keeps the complete samples, moves the broken one aside and exits with 130.
func TestInterrupted(t *testing.T) {
	dir := filepath.Join(t.ArtifactDir(), "bench")
	cmd := command(t, dir, "--count", "50", "--vs", "clients=2")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := make(chan error, 1)
	go func() {
		// In the middle of the third sample.
		err := ensembles.Poll(ctx, 10*time.Millisecond, "the third sample", func() error {
			if _, err := os.Stat(filepath.Join(dir, Base, "002", "scenario.yaml")); err == nil {
				return nil
			}
			_, err := os.Stat(filepath.Join(dir, Head, "002", "scenario.yaml"))
			return err
		})
		if err == nil {
			err = cmd.Process.Signal(syscall.SIGINT)
		}
		begun <- err
	}()
	code, stdout := exitCode(t, cmd)
	cancel()
	if err := <-begun; err != nil {
		t.Fatalf("exit code %d: %v\n%s", code, err, stdout)
	}
	whole, aside, sides := 0, 0, map[string]int{}
	for _, file := range glob(t, filepath.Join(dir, "*", "*", "result.json")) {
		r := readJSON[result.Result](t, file)
		switch filepath.Base(filepath.Dir(filepath.Dir(file))) {
		case Base, Head:
			whole++
			sides[filepath.Base(filepath.Dir(filepath.Dir(file)))]++
			if r.Partial {
				t.Errorf("%s is partial", file)
			}
		case unfinishedDir:
			aside++
			if !r.Partial {
				t.Errorf("%s is whole", file)
			}
		}
	}
	// How far it got before the signal depends on the machine.
	if few := min(sides[Base], sides[Head]) < compare.MinRuns; code != 130 ||
		few && !strings.Contains(stdout, "at least 4 a side") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	if whole < 2 || whole == 100 || aside > 1 || whole+aside < 3 {
		t.Errorf("%d whole samples, %d aside", whole, aside)
	}
	if n := len(glob(t, filepath.Join(dir, "*.txt"))); n != 2 {
		t.Errorf("%d sample files", n)
	}
}

// compareIn compares the sides in a benchmark's directory, as the command does.
func compareIn(t *testing.T, dir string) compare.Report {
	t.Helper()
	base, head := filepath.Join(dir, Base), filepath.Join(dir, Head)
	design, err := compare.ReadDesign(base, head)
	if err != nil {
		t.Fatal(err)
	}
	b, err := compare.Load(base)
	if err != nil {
		t.Fatal(err)
	}
	h, err := compare.Load(head)
	if err != nil {
		t.Fatal(err)
	}
	r, err := compare.Compare(b, h, compare.Options{Varied: design.Varied, Paired: design.Paired,
		Looks: design.Looks}, nil)
	if err != nil {
		t.Fatal(strings.Join([]string{dir, err.Error()}, ": "))
	}
	return r
}
