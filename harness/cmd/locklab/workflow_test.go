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

	"github.com/goccy/go-yaml"

	"locklab/ensembles/labtest/suite"
	"locklab/harness/console"
)

// A workflow has the parts of a GitHub workflow that this test needs.
type workflow struct {
	Jobs map[string]struct {
		Steps []struct {
			Name, Run string
		}
	}
}

// The commands of the workflows exist: bash parses each script, the program itself parses each of its command lines,
// and make knows each target.
func TestWorkflowsRunWhatThereIs(t *testing.T) {
	root := "../../.."
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	parser, err := newParser(console.Streams{Out: io.Discard, Err: io.Discard}, false)
	if err != nil {
		t.Fatal(err)
	}
	var ran, made []string
	for _, file := range files {
		b, err := os.ReadFile(file)
		var w workflow
		if err == nil {
			err = yaml.Unmarshal(b, &w)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range w.Jobs {
			for _, step := range job.Steps {
				if step.Run == "" {
					continue
				}
				if out, err := exec.Command("bash", "-n", "-c", step.Run).CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", step.Name, err, out)
				}
				for _, args := range commandLines(step.Run, `(?:\S*/)?locklab`) {
					ran = append(ran, args[0])
					if _, err := parser.Parse(args); err != nil {
						t.Errorf("%s: locklab %s: %v", step.Name, strings.Join(args, " "), err)
					}
				}
				for _, args := range commandLines(step.Run, `make(?: -C \S+)?`) {
					made = append(made, slices.DeleteFunc(args, func(a string) bool { return strings.Contains(a, "=") })...)
				}
			}
		}
	}
	if !slices.Contains(ran, "bench") || !slices.Contains(made, "image") {
		t.Errorf("the workflows run locklab %v and make %v", ran, made)
	}
	for _, target := range made {
		if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(makefile) {
			t.Errorf("make has no target %s", target)
		}
	}
	if _, err := parser.Parse([]string{"bench", "--vs-binry", "x"}); err == nil {
		t.Error("a flag that is none was parsed, so nothing was tested")
	}
}

// ghComments stands in for gh. It keeps the comments of a pull request in files, by id; the last ones are not ours.
const ghComments = `#!/bin/bash
set -e
cd "$COMMENTS"
case "$1 $2 $3" in
"api --paginate "*)
  for f in *; do printf '{"id":%s,"user":{"type":"Bot"},"body":%s}\n' "$f" "$(jq -Rs . < "$f")"; done |
    jq -s . | jq -r "${@: -1}" ;;
"api --method PATCH")
  for a; do case "$a" in body=@*) body=$RUN/${a#body=@} ;; repos/*) id=${a##*/} ;; esac; done
  cat "$body" > "$id" ;;
"pr comment 7")
  cat "$RUN/$5" > "$((100 + $(ls | wc -l)))" ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
`

// A second push replaces the comment of the first, although the same bot has made another comment since.
func TestWorkflowReplacesItsComment(t *testing.T) {
	suite.Tool(t, "jq", "setup-readers")
	b, err := os.ReadFile("../../../.github/workflows/lock-latency.yml")
	var w workflow
	if err == nil {
		err = yaml.Unmarshal(b, &w)
	}
	if err != nil {
		t.Fatal(err)
	}
	steps := w.Jobs["compare"].Steps
	script := steps[slices.IndexFunc(steps, func(s struct{ Name, Run string }) bool { return s.Name == "Comment" })].Run
	dir, comments := t.TempDir(), t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "bin/gh"), ghComments, 0o755)
	for i, text := range []string{"### locklab: pass", "### locklab: regressed"} {
		write(filepath.Join(dir, "runs/comment.md"), text+"\n", 0o644)
		cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "PR=7",
			"GITHUB_REPOSITORY=some/where", "COMMENTS="+comments, "RUN="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("push %d: %v\n%s", i+1, err, out)
		}
		write(filepath.Join(comments, "500"), "coverage went down\n", 0o644)
	}
	all, err := filepath.Glob(filepath.Join(comments, "*"))
	if err != nil || len(all) != 2 {
		t.Fatalf("%v, %v", all, err)
	}
	for i, want := range []string{"### locklab: regressed", "coverage went down"} {
		if b, err := os.ReadFile(all[i]); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v\n%s", all[i], err, b)
		}
	}
}

// commandLines returns the arguments of each command of that name in a script.
func commandLines(script, name string) [][]string {
	var all [][]string
	script = strings.ReplaceAll(script, "\\\n", " ")
	for _, m := range regexp.MustCompile(`(?m)(?:^|\s)`+name+` ([^|&;\n]*)`).FindAllStringSubmatch(script, -1) {
		all = append(all, strings.Fields(m[1]))
	}
	return all
}
