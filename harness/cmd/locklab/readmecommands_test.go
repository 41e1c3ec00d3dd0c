package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/harness/console"
)

// standIn stands in for locklab and make while the commands of a manual are run. It records each call. Commands that
// need a lab, an old run or somebody's ensemble are not carried out: run and sweep print what they would do, which
// resolves the scenario and checks every key, and the others succeed, because the test parses them. Commands that need
// neither are run.
const standIn = `#!/bin/bash
call=$(printf '%s\037' "${0##*/}" "$@")
echo "$call" >> "$CALLS" # in one write: the commands of a pipe run at the same time
case "${0##*/} $1 $*" in
make*) exit 0 ;;
"locklab scenarios "* | "locklab completion "* | *--help | *--version | *--dry-run | *--print-config)
	exec "$LOCKLAB" "$@" ;;
"locklab sweep "*--resume* | "locklab sweep "*--connect* | "locklab run "*--connect*) exit 0 ;;
"locklab run "*) exec "$LOCKLAB" "$@" --print-config ;;
"locklab sweep "*) exec "$LOCKLAB" "$@" --dry-run ;;
esac
`

var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	yamlBlock  = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")
)

// The commands of the manuals work: bash runs each block in an empty directory, with a stand-in for commands that need
// a lab, and the program itself parses each of its command lines.
func TestReadmeCommands(t *testing.T) {
	program, err := exec.LookPath("locklab") // this binary; see TestMain
	if err != nil {
		t.Fatal(err)
	}
	makefile := readManual(t, "Makefile")
	for _, manual := range manuals(t) {
		t.Run(manual, func(t *testing.T) {
			for _, block := range shellBlock.FindAllStringSubmatch(readManual(t, manual), -1) {
				for _, call := range callsOf(t, program, block[1]) {
					if call[0] == "make" {
						checkTargets(t, makefile, call[1:])
					} else {
						checkCommand(t, call[1:])
					}
				}
			}
		})
	}
}

// run accepts each example of a scenario in YAML.
func TestReadmeScenarios(t *testing.T) {
	n := 0
	for _, manual := range manuals(t) {
		for _, block := range yamlBlock.FindAllStringSubmatch(readManual(t, manual), -1) {
			file := filepath.Join(t.TempDir(), "example.yaml")
			if err := os.WriteFile(file, []byte(block[1]), 0o644); err != nil {
				t.Fatal(err)
			}
			if code, _, stderr := runCLI(t, "run", file, "--print-config"); code != exitOK {
				t.Errorf("%s: exit %d: %s\n%s", manual, code, stderr, block[1])
			}
			n++
		}
	}
	if n == 0 {
		t.Error("the manuals have no example of a scenario")
	}
}

// A command that no longer exists fails the test of the manuals.
func TestReadmeCommandsAreChecked(t *testing.T) {
	for _, args := range [][]string{{"bench", "--vs-binry", "x"}, {"frob"}, {"plan"}} {
		if _, err := parseCommand(t, args); err == nil {
			t.Errorf("locklab %s was parsed", strings.Join(args, " "))
		}
	}
	if shellBlock.FindString(readManual(t, "README.md")) == "" {
		t.Error("README.md has no commands")
	}
}

// callsOf runs a block of commands and returns the calls of locklab and make with their arguments.
func callsOf(t *testing.T, program, block string) (calls [][]string) {
	t.Helper()
	dir := t.TempDir()
	notes := filepath.Join(dir, "calls")
	for _, name := range []string{"bin/locklab", "bin/make"} {
		writeExecutable(t, filepath.Join(dir, name), standIn)
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", block)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin", "CALLS=" + notes, "LOCKLAB=" + program}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, block, out)
		return nil
	}
	b, err := os.ReadFile(notes)
	if err != nil {
		t.Errorf("no command of locklab or make in\n%s", block)
	}
	for line := range strings.Lines(string(b)) {
		calls = append(calls, strings.Split(strings.TrimSuffix(line, "\x1f\n"), "\x1f"))
	}
	return calls
}

func writeExecutable(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// checkTargets fails the test if make does not know a target.
func checkTargets(t *testing.T, makefile string, args []string) {
	t.Helper()
	for _, target := range args {
		if strings.Contains(target, "=") {
			continue
		}
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).MatchString(makefile) {
			t.Errorf("make has no target %s", target)
		}
	}
}

// checkCommand parses a command line. It also checks the plan of bench, which cannot print its plan.
func checkCommand(t *testing.T, args []string) {
	t.Helper()
	if slices.Contains(args, "--version") || slices.Contains(args, "--help") {
		return // the stand-in has run it
	}
	target, err := parseCommand(t, args)
	if err != nil {
		t.Errorf("locklab %s: %v", strings.Join(args, " "), err)
		return
	}
	if b, ok := target.(*benchCmd); ok {
		b.VsBinary = "" // the file does not exist
		if _, err := b.plan(t.Context(), strings.NewReader("")); err != nil {
			t.Errorf("locklab %s: %v", strings.Join(args, " "), err)
		}
	}
}

// parseCommand returns the command that a command line selects.
func parseCommand(t *testing.T, args []string) (any, error) {
	t.Helper()
	parser, err := newParser(console.Streams{Out: io.Discard, Err: io.Discard}, false)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parser.Parse(args)
	if err != nil {
		return nil, err
	}
	return c.Selected().Target.Addr().Interface(), nil
}

var (
	mdLink  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noLabel = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// Every link of the manuals within the repository leads somewhere, also to a heading, and so do those of the documents
// that the manuals lead to.
func TestReadmeLinks(t *testing.T) {
	measured, err := filepath.Glob(filepath.Join(root(t), "reports/measurements/*.md"))
	if err != nil || len(measured) == 0 {
		t.Fatalf("no measurements: %v", err)
	}
	pages := append(manuals(t), "workloads/foreign/PROTOCOL.md",
		"recipes/SPEC.md", "recipes/STATES.md", ".github/CHANGELOG.md")
	for _, file := range measured {
		pages = append(pages, "reports/measurements/"+filepath.Base(file))
	}
	for _, manual := range pages {
		for _, m := range mdLink.FindAllStringSubmatch(readManual(t, manual), -1) {
			to, label, labelled := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			file := manual
			if to != "" {
				file = filepath.Join(filepath.Dir(manual), to)
			}
			if _, err := os.Stat(filepath.Join(root(t), file)); err != nil {
				t.Errorf("%s: a link to %s, which is not there", manual, m[1])
			} else if labelled && !slices.Contains(labelsOf(readManual(t, file)), label) {
				t.Errorf("%s: a link to %s, but %s has no such heading", manual, m[1], file)
			}
		}
	}
}

// labelsOf returns the anchors of a page's headings, as GitHub makes them.
func labelsOf(text string) (labels []string) {
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		labels = append(labels, strings.ReplaceAll(noLabel.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return labels
}
