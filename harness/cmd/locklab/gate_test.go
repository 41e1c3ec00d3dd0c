package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordings has benchmarks that bench recorded on a busy machine of two cores, reduced to the files that compare
// reads.
const recordings = "testdata/gate"

// The gate ends with each of its exit codes, on run directories as real runs left them.
func TestGateOnRecordedRuns(t *testing.T) {
	side := func(bench, name string) string { return filepath.Join(recordings, bench, name) }
	same := func(name string) string { return filepath.Join(samples, name) }
	for _, c := range []struct {
		name       string
		base, head string
		args       []string
		want       int
		stdout     string
		stderr     string
	}{
		{name: "the same code", base: same("base"), head: same("head"), args: coarse, want: exitOK,
			stdout: "pass: "},
		{name: "a hand-off a fifth slower", base: side("slow", "base"), head: side("slow", "head"),
			want: exitRegression, stdout: "regressed: "},
		{name: "and mended", base: side("slow", "head"), head: side("slow", "base"), want: exitOK, stdout: "improved: "},
		{name: "no lock at all", base: side("violation", "base"), head: side("violation", "head"), want: exitViolation,
			stdout: "belief-exclusion: "},
		{name: "no lock, mended", base: side("violation", "head"), head: side("violation", "base"), want: exitUnknown,
			stdout: "failed its checks"},
		{name: "no lock, and another configuration", base: same("base"), head: side("violation", "head"),
			want: exitViolation, stdout: "different configurations"},
		{name: "one run a side, by name", base: same("base/001"), head: same("head/001"), want: exitUnknown,
			stdout: "at least 4 a side"},
		{name: "an interrupted run, and one whose harness was killed", base: side("broken", "base"),
			head: side("broken", "head"), want: exitUnknown, stdout: "is a partial run"},
		{name: "other configurations", base: side("violation", "base"), head: same("head"), want: exitInput,
			stderr: "different configurations"},
		{name: "the same runs twice", base: same("base"), head: same("base"), want: exitInput, stderr: "are the same run"},
		{name: "both sides at once", base: samples, head: same("head"), want: exitInput, stderr: "holds no run"},
		{name: "a folder of something else", base: same("base"), head: "testdata/script", want: exitInput,
			stderr: "holds no run"},
		{name: "an empty folder", base: t.TempDir(), head: same("head"), want: exitInput, stderr: "holds no run"},
		{name: "nothing", base: same("base"), head: "testdata/nowhere", want: exitInput,
			stderr: "there is no directory testdata/nowhere"},
		{name: "a file", base: same("base/001/result.json"), head: same("head"), want: exitInput,
			stderr: "is not a directory"},
	} {
		code, stdout, stderr := runCLI(t, append([]string{"compare", c.base, c.head}, c.args...)...)
		if code != c.want || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) ||
			c.want == exitInput && stdout != "" {
			t.Errorf("%s: exit code %d, want %d\n%s%s", c.name, code, c.want, stdout, stderr)
		}
	}
}

// If a file of one real run directory is damaged or missing, the directory is refused by name, whichever side it is
// on, although all others are whole.
func TestGateOnDamagedRuns(t *testing.T) {
	for _, file := range []string{"result.json", "scenario.yaml", "env.json"} {
		for damage, do := range map[string]func(string) error{
			"gone":  os.Remove,
			"empty": func(name string) error { return os.Truncate(name, 0) },
			"half": func(name string) error {
				info, err := os.Stat(name)
				if err != nil {
					return err
				}
				return os.Truncate(name, info.Size()/2)
			},
			"foreign": func(name string) error { return os.WriteFile(name, []byte("<html>not found</html>\n"), 0o644) },
		} {
			for _, side := range []string{"base", "head"} {
				dir := t.TempDir()
				if err := os.CopyFS(dir, os.DirFS(samples)); err != nil {
					t.Fatal(err)
				}
				if err := do(filepath.Join(dir, side, "002", file)); err != nil {
					t.Fatal(err)
				}
				code, stdout, stderr := runCLI(t, "compare", filepath.Join(dir, "base"), filepath.Join(dir, "head"))
				if code != exitInput || stdout != "" || !strings.Contains(stderr, filepath.Join(side, "002")) ||
					!strings.Contains(stderr, strings.TrimSuffix(file, filepath.Ext(file))) {
					t.Errorf("%s of %s/002 is %s: exit code %d\n%s%s", file, side, damage, code, stdout, stderr)
				}
			}
		}
	}
}
