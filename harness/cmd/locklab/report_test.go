package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/harness/history"
)

// report --only prints a picture and writes nothing; what it cannot draw it refuses in one line.
func TestReportOnly(t *testing.T) {
	dir := recordRun(t, "", string(history.EndComplete), 190)
	before := contents(t, dir)
	for _, c := range []struct{ args, begins string }{
		{"timeline", "<?xml"}, {"timeline --from 100ms --to 150ms", "<?xml"}, {"timeline --format png", "\x89PNG"},
		{"throughput", "<?xml"},
	} {
		args := append([]string{"report", dir, "--only"}, strings.Fields(c.args)...)
		code, stdout, stderr := runCLI(t, args...)
		if code != exitOK || !bytes.HasPrefix([]byte(stdout), []byte(c.begins)) {
			t.Errorf("%s: exit code %d, %.40q: %s", c.args, code, stdout, stderr)
		}
	}
	for _, args := range []string{"--only timeline --from 2s --to 1s", "--only timeline --from 1h",
		"--only timeline --lock /none", "--only nothing", "--from 1s", "--only grants --to 1s",
		"--only timeline --format gif", "--only timeline --from soon"} {
		code, stdout, stderr := runCLI(t, append([]string{"report", dir}, strings.Fields(args)...)...)
		if code != exitInput || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, %q", args, code, stdout, stderr)
		}
	}
	if after := contents(t, dir); !maps.Equal(before, after) {
		t.Errorf("the directory has %v", slices.Sorted(maps.Keys(after)))
	}
}

// report of a folder of runs writes their index.
func TestReportOfAFolder(t *testing.T) {
	dir := recordRun(t, "", string(history.EndComplete), 190)
	if code, _, stderr := runCLI(t, "check", dir); code != exitOK {
		t.Fatal(stderr)
	}
	folder := filepath.Dir(dir)
	code, stdout, stderr := runCLI(t, "report", folder)
	page, err := os.ReadFile(filepath.Join(folder, "index.html"))
	if code != exitOK || stdout != filepath.Join(folder, "index.html")+"\n" || err != nil {
		t.Fatalf("exit code %d, %q, %q, %v", code, stdout, stderr, err)
	}
	if link := `href="./` + filepath.Base(dir) + `/report.html"`; !strings.Contains(string(page), link) {
		t.Errorf("the index has no %s:\n%s", link, page)
	}
	if code, _, _ := runCLI(t, "report", t.TempDir()); code != exitInput {
		t.Errorf("a folder without runs: exit code %d", code)
	}
}
