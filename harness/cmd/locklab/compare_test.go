package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/check/evidence"
	"locklab/harness/console"
	"locklab/reports/measure"
	"locklab/reports/result"
)

// samples is how many pairs of runs of the same code bench recorded.
const (
	samples     = "../../../reports/compare/testdata/samples"
	samplePairs = 12
)

// coarse are tolerances that so few runs on a busy machine can keep.
var coarse = []string{"--tolerate", "acquired_per_s=30%", "--tolerate", "acquire.p50=30%", "--tolerate",
	"acquire.p99=60%", "--tolerate", "handoff.p50=30%"}

// realRuns copies the given number of a side's recorded runs into a folder and edits each result.
func realRuns(t *testing.T, dir, side string, n int, edit func(*result.Result)) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("%03d", i+1)
		run := filepath.Join(dir, side, name)
		if err := os.CopyFS(run, os.DirFS(filepath.Join(samples, side, name))); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(run, "result.json")
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var r result.Result
		if err := json.Unmarshal(b, &r); err != nil {
			t.Fatal(err)
		}
		if edit != nil {
			edit(&r)
		}
		if b, err = json.Marshal(r); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// slower changes a run as if each acquisition had taken the given multiple of its time.
func slower(factor float64) func(*result.Result) {
	return func(r *result.Result) {
		*r.Throughput.AcquiredPerS /= factor
		for _, l := range []*measure.Latency{&r.Latency.Acquire, &r.Latency.Handoff} {
			for _, ns := range []*int64{l.P50Ns, l.P90Ns, l.P99Ns} {
				if ns != nil {
					*ns = int64(float64(*ns) * factor)
				}
			}
		}
	}
}

func runCLI(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = execute(t.Context(), args, console.Streams{Out: &out, Err: &err})
	return code, out.String(), err.String()
}

// The gate ends with each of its exit codes, on directories that real runs made.
func TestCompareExitCodes(t *testing.T) {
	for _, c := range []struct {
		name           string
		heads          int
		editBase       func(*result.Result)
		editHead       func(*result.Result)
		args           []string
		want           int
		stdout, stderr string
	}{
		{name: "the same", heads: samplePairs, args: coarse, want: exitOK, stdout: "pass: "},
		{name: "the same, of which too little is known", heads: samplePairs, want: exitUnknown, stdout: "is tolerated"},
		{name: "faster", heads: samplePairs, editHead: slower(0.4), want: exitOK, stdout: "improved: "},
		{name: "slower", heads: samplePairs, editHead: slower(2.5), want: exitRegression, stdout: "regressed: "},
		{name: "violated and faster", heads: samplePairs,
			editHead: func(r *result.Result) { slower(0.4)(r); r.Verdict = evidence.Fail },
			want:     exitViolation, stdout: "violation: "},
		{name: "partial", heads: samplePairs, editHead: func(r *result.Result) { r.Partial = true }, want: exitUnknown,
			stdout: "inconclusive: .*partial"},
		{name: "partial base and slower", heads: samplePairs, editBase: func(r *result.Result) { r.Partial = true },
			editHead: slower(2.5), want: exitUnknown, stdout: "inconclusive: "},
		{name: "too few", heads: 3, want: exitUnknown, stdout: "at least 4 a side"},
		{name: "other schema", heads: samplePairs, editHead: func(r *result.Result) { r.SchemaVersion = 9 },
			want: exitInput, stderr: "schema_version is 9"},
		{name: "no such metric", heads: samplePairs, args: []string{"--metric", "acquire.p98"}, want: exitInput,
			stderr: `no metric "acquire.p98"`},
		{name: "no such key", heads: samplePairs, args: []string{"--allow-mismatch", "recpie"}, want: exitInput,
			stderr: "recpie"},
		{name: "no such format", heads: samplePairs, args: []string{"--format", "yaml"}, want: exitInput, stderr: "--format"},
		{name: "no such file format", heads: samplePairs, args: []string{"--write", "yaml=x"}, want: exitInput,
			stderr: `no format "yaml"`},
		{name: "a tolerance that hardly ever fails", heads: samplePairs, editHead: slower(2.5),
			args: []string{"--tolerate", "acquire.p99=500%"}, want: exitInput, stderr: "could hardly ever fail"},
		{name: "one that never passes", heads: samplePairs, args: []string{"--tolerate", "acquire.p50=-5%"},
			want: exitInput, stderr: "could never pass"},
		{name: "nor this", heads: samplePairs, args: []string{"--tolerate", "acquire.p50=NaN"}, want: exitInput,
			stderr: "could never pass"},
		{name: "one that nothing depends on", heads: samplePairs,
			args: []string{"--metric", "acquire.p50", "--tolerate", "acquire.p99=10%"}, want: exitInput,
			stderr: "could never fail"},
		{name: "a tolerance of no metric", heads: samplePairs, args: []string{"--tolerate", "acquire.p98=10%"},
			want: exitInput, stderr: `no metric "acquire.p98"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			base, head := filepath.Join(dir, "base"), filepath.Join(dir, "head")
			realRuns(t, dir, "base", samplePairs, c.editBase)
			realRuns(t, dir, "head", c.heads, c.editHead)
			code, stdout, stderr := runCLI(t, append([]string{"compare", base, head}, c.args...)...)
			if code != c.want {
				t.Errorf("exit code %d, want %d\n%s%s", code, c.want, stdout, stderr)
			}
			for _, o := range []struct{ name, got, want string }{{"stdout", stdout, c.stdout}, {"stderr", stderr, c.stderr}} {
				if before, after, _ := strings.Cut(o.want, ".*"); !strings.Contains(o.got, before) ||
					!strings.Contains(o.got, after) {
					t.Errorf("%s %q does not say %q", o.name, o.got, o.want)
				}
			}
			if c.want == exitInput && stdout != "" {
				t.Errorf("stdout %q", stdout)
			}
		})
	}
}

func TestCompareWritesFiles(t *testing.T) {
	dir := t.TempDir()
	base, head := filepath.Join(dir, "base"), filepath.Join(dir, "head")
	realRuns(t, dir, "base", samplePairs, nil)
	realRuns(t, dir, "head", samplePairs, slower(2.5))
	md, xml := filepath.Join(dir, "comment.md"), filepath.Join(dir, "junit.xml")
	code, stdout, _ := runCLI(t, "compare", base, head, "--format", "github", "--write", "markdown="+md, "--write",
		"junit="+xml)
	if code != exitRegression || !strings.HasPrefix(stdout, "::error title=locklab%3A regressed::") {
		t.Errorf("exit code %d, stdout %q", code, stdout)
	}
	for file, want := range map[string]string{md: "### locklab: regressed", xml: "<testsuites "} {
		if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	if code, _, stderr := runCLI(t, "compare", base, head, "--write", "json="+filepath.Join(dir, "nowhere",
		"x")); code != exitInput || !strings.Contains(stderr, "its folder does not exist") {
		t.Errorf("a file that cannot be written: exit code %d, %q", code, stderr)
	}
}

func TestCompareUsage(t *testing.T) {
	for _, args := range [][]string{{"compare"}, {"compare", "base"}} {
		if code, _, stderr := runCLI(t, args...); code != exitInput || !strings.Contains(stderr, "two run directories") {
			t.Errorf("%q: exit code %d, %q", args, code, stderr)
		}
	}
}
