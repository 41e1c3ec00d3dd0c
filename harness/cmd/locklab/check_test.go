package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness/history"
)

// contents returns the files below a directory with what is in them.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// check replaces the result, the verdicts and the report, or, if it must not write, none of them.
func TestCheckWritesAllOrNothing(t *testing.T) {
	dir := recordRun(t, "", string(history.EndComplete), 190)
	before := contents(t, dir)
	for _, c := range []struct {
		name string
		args []string
		mode fs.FileMode
	}{
		{"dry run", []string{"check", "--dry-run", dir}, 0o755},
		{"read-only directory", []string{"check", dir}, 0o555},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.Chmod(dir, c.mode); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(dir, 0o755)
			code, stdout, _ := runCLI(t, c.args...)
			if code != exitOK || !strings.Contains(stdout, "nothing was written into "+dir) {
				t.Errorf("exit code %d: %s", code, stdout)
			}
			if after := contents(t, dir); !maps.Equal(before, after) {
				t.Errorf("the directory has %v", slices.Sorted(maps.Keys(after)))
			}
		})
	}
	stale := []string{"result.json", "verdicts.json", "report.html", "history.jsonl"}
	for _, name := range stale {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("stale"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if code, stdout, stderr := runCLI(t, "check", dir); code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	after := contents(t, dir)
	for _, name := range stale {
		if after[name] == "stale" {
			t.Errorf("%s was not replaced", name)
		}
	}
}

// A check that fails says which file is bad, ends with exit code 2, and leaves no older verdict behind.
func TestCheckOfABadDirectory(t *testing.T) {
	for _, c := range []struct{ file, content, says string }{
		{"env.json", "{", "env.json"},
		{"env.json", "", "env.json"},
		{"env.json", `{"lab": 7}`, "env.json"},
		{"env.json", `{"format": 99}`, "newer locklab"},
		{"timeline.json", "[", "timeline.json"},
		{"timeline.json", `{"faults": [{"id": "f1", "keys": {"kind": "no such fault"}}]}`, "timeline.json"},
		{"scenario.yaml", "clients: many\n", "scenario.yaml"},
	} {
		t.Run(c.file+" "+c.content, func(t *testing.T) {
			dir := recordRun(t, "", string(history.EndComplete), 190)
			if code, stdout, stderr := runCLI(t, "check", dir); code != exitOK {
				t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
			}
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.content), 0o644); err != nil {
				t.Fatal(err)
			}
			judged := contents(t, dir)
			code, stdout, stderr := runCLI(t, "check", "--dry-run", dir)
			if code != exitInput || stdout != "" || !strings.Contains(stderr, c.says) {
				t.Errorf("dry run: exit code %d: %s%s", code, stdout, stderr)
			}
			if !maps.Equal(judged, contents(t, dir)) {
				t.Error("a dry run changed files")
			}
			code, stdout, stderr = runCLI(t, "check", dir)
			if code != exitInput || stdout != "" || !strings.Contains(stderr, c.says) {
				t.Errorf("exit code %d: %s%s", code, stdout, stderr)
			}
			for name := range contents(t, dir) {
				if name != c.file && name != "scenario.yaml" && !strings.HasPrefix(name, "hosts/") {
					t.Errorf("%s is left of an older verdict", name)
				}
			}
		})
	}
}

// A run directory without its scenario cannot be judged, so no older verdict stays there.
func TestCheckWithoutAScenario(t *testing.T) {
	dir := recordRun(t, "", string(history.EndComplete), 190)
	if code, stdout, stderr := runCLI(t, "check", dir); code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	if err := os.Remove(filepath.Join(dir, "scenario.yaml")); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := runCLI(t, "check", dir); code != exitInput || !strings.Contains(stderr, "scenario.yaml") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	for _, name := range []string{"result.json", "verdicts.json", "report.html"} {
		if _, left := contents(t, dir)[name]; left {
			t.Errorf("%s is left of an older verdict", name)
		}
	}
}

// check removes nothing from a directory that holds no run.
func TestCheckOfNoRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "result.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := runCLI(t, "check", dir)
	if code != exitInput || len(contents(t, dir)) != 1 {
		t.Errorf("exit code %d: %s; %v", code, stderr, contents(t, dir))
	}
}
