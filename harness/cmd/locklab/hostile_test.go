package main

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/reports/export"
	"locklab/reports/result"
)

// hostile is a name that clears the screen, begins a line that GitHub would obey as a workflow command, reverses the
// direction of text, and rings the bell.
const hostile = "name\x1b[2J\r\n::error title=forged::text\u202egnp\u2028\u009b31m\a"

// wantPlain fails the test if a text has a character that does something instead of being seen, or the forged line.
func wantPlain(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is not UTF-8", what)
	}
	for i, r := range text {
		if r != '\n' && r != '\t' && (!unicode.IsGraphic(r) || r == '\u2028') {
			t.Errorf("%s has %q in %q", what, r, text[max(0, i-60):min(len(text), i+60)])
			return
		}
	}
	if strings.HasPrefix(text, "::error title=forged") || strings.Contains(text, "\n::error title=forged") {
		t.Errorf("%s has the forged line:\n%s", what, text)
	}
}

// wantPlainJSON fails the test if a string in a JSON document is not plain once it is decoded.
func wantPlainJSON(t *testing.T, what, text string) {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			wantPlain(t, what, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				wantPlain(t, what, k)
				walk(v[k])
			}
		}
	}
	walk(v)
}

// recordHostile leaves a run directory whose clients, locks, faults, errors and environment have hostile names.
func recordHostile(t *testing.T) string {
	t.Helper()
	dir := recordRun(t, "", string(history.EndComplete), 190)
	const base = int64(1e9) // the same as in recordRun
	rec, err := history.NewRecorder(filepath.Join(dir, "hosts", "c9"), hostile, history.NewClock())
	if err != nil {
		t.Fatal(err)
	}
	e := history.Event{Process: hostile, Client: hostile + "/0", Acq: 1, Lock: "/" + hostile}
	add := func(ms int64, op history.Op, kind history.Kind) {
		e.At, e.Op, e.Kind = base+ms*milli, op, kind
		if err := rec.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	add(100, history.OpAcquire, history.Invoke)
	add(101, history.OpQueued, history.Info)
	e.Detail = hostile
	add(110, history.OpAcquire, history.Fail)
	e = history.Event{Process: "harness", Target: hostile, Fault: hostile, Detail: hostile}
	add(200, history.OpFaultInject, history.Invoke)
	add(201, history.OpFaultInject, history.OK)
	add(202, history.OpFaultVerify, history.Fail)
	add(300, history.OpFaultHeal, history.OK)
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	env, err := json.Marshal(map[string]any{
		"lab": hostile, "lab_id": hostile, "image": hostile, "zookeeper": hostile, "kernel": hostile, "go": hostile,
		"zookeepers": map[string]string{"zk1": hostile, hostile: "3.8.0"}, "java_options": []string{hostile},
		"locklab": hostile, "started_unix_ns": 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "env.json"), env, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Control characters in a run directory's raw files never reach the terminal or a derived file.
func TestHostileRunDirectory(t *testing.T) {
	dir := recordHostile(t)
	commands := [][]string{{"check", dir}, {"report", dir}, {"report", dir, "--only", "timeline", "--from", "0s"}}
	for _, f := range export.Formats() {
		commands = append(commands, []string{"export", dir, "--format", f.Name})
	}
	for _, args := range commands {
		_, stdout, stderr := runCLI(t, args...)
		wantPlain(t, strings.Join(args, " ")+"'s stdout", stdout)
		wantPlain(t, strings.Join(args, " ")+"'s stderr", stderr)
	}
	for _, name := range []string{"result.json", "verdicts.json", "bench.txt", "report.html", "latency.hlog",
		"hiccups.hlog"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	drawn, named := 0, false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		if err != nil || d.IsDir() || name == "env.json" || strings.Contains(path, "/hosts/") {
			return err
		}
		b, err := os.ReadFile(path)
		text := string(b)
		named = named || strings.Contains(text, `\x1b[2J`)
		switch filepath.Ext(name) {
		case ".png":
		case ".svg":
			drawn++
			wantPlain(t, name, text)
		case ".json":
			wantPlainJSON(t, name, text)
		case ".jsonl":
			for line := range strings.Lines(text) {
				wantPlainJSON(t, name, line)
			}
		default:
			wantPlain(t, name, text)
		}
		return err
	})
	if err != nil || drawn == 0 || !named {
		t.Errorf("%d pictures; the name occurs: %v; %v", drawn, named, err)
	}
}

// Control characters in the results of somebody else's runs reach no format of a comparison.
func TestHostileComparison(t *testing.T) {
	dir := t.TempDir()
	spoil := func(r *result.Result) {
		r.Scenario, r.Recipe, r.Headline = hostile, hostile, hostile
		r.Warnings = append(r.Warnings, hostile)
		for i := range r.Checks {
			r.Checks[i].Name, r.Checks[i].Summary = hostile, hostile
		}
	}
	violated := func(r *result.Result) {
		spoil(r)
		r.Verdict, r.Checks[0].Outcome = evidence.Fail, evidence.Fail
	}
	realRuns(t, dir, "base", samplePairs, spoil)
	realRuns(t, dir, "head", samplePairs, violated)
	for i := range 2 { // a mismatch of the environment is quoted, too
		file := filepath.Join(dir, "head", []string{"001", "002"}[i], "env.json")
		var env map[string]any
		b, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(b, &env)
		}
		if err != nil {
			t.Fatal(err)
		}
		env["kernel"], env["locklab"] = hostile, hostile
		if b, err = json.Marshal(env); err == nil {
			err = os.WriteFile(file, b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, format := range []string{"text", "markdown", "json", "junit", "github"} {
		t.Run(format, func(t *testing.T) {
			args := []string{"compare", filepath.Join(dir, "base"), filepath.Join(dir, "head"), "--format", format}
			code, stdout, stderr := runCLI(t, args...)
			if code != exitViolation || !strings.Contains(stdout, "forged") {
				t.Errorf("exit code %d, and the name is not shown:\n%s", code, stdout)
			}
			wantPlain(t, "stderr", stderr)
			if format == "json" {
				wantPlainJSON(t, "stdout", stdout)
				return
			}
			wantPlain(t, "stdout", stdout)
		})
	}
}

// A sweep's plan with hostile names is shown as plain text, and one whose folders have such names is refused.
func TestHostileSweep(t *testing.T) {
	plan := func(name string) string {
		dir := t.TempDir()
		b, err := json.Marshal(map[string]any{
			"schema_version": 1, "scenario": hostile, "about": hostile, "seed": 7, "repeat": 1,
			"params": []map[string]any{{"key": hostile, "values": []string{hostile}}},
			"points": []map[string]any{
				{"name": name, "values": map[string]string{hostile: hostile}, "source": "clients: 2\n"},
			},
			"order": []map[string]int{{"point": 0, "repeat": 1}},
		})
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "plan.json"), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dir := plan("a")
	code, stdout, stderr := runCLI(t, "report", dir)
	if code != exitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	wantPlain(t, "stdout", stdout)
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	wantPlain(t, "report.html", string(page))
	_, stdout, stderr = runCLI(t, "sweep", "--resume", dir, "--dry-run")
	wantPlain(t, "stderr", stderr)
	wantPlainJSON(t, "stdout", stdout)

	code, stdout, stderr = runCLI(t, "sweep", "--resume", plan(hostile), "--dry-run")
	if code != exitInput || stdout != "" {
		t.Errorf("a folder of that name: exit code %d, %s", code, stdout)
	}
	wantPlain(t, "stderr", stderr)
}

// A scenario with such a name is refused where it is read, and the message quotes it.
func TestHostileScenario(t *testing.T) {
	for _, key := range []string{"name", "about", "recipe", "lab"} {
		text, err := json.Marshal(hostile)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(file, []byte(key+": "+string(text)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		code, stdout, stderr := runCLI(t, "run", file)
		if code != exitInput || stdout != "" {
			t.Errorf("%s: exit code %d, stdout %q", key, code, stdout)
		}
		wantPlain(t, key+"'s message", stderr)
	}
}
