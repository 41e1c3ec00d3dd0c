package gate_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"locklab/ensembles/labtest"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/gate"
)

// A foreignRepository is a repository of somebody else's, whose lock is go-zookeeper's, and whose gate was written by
// locklab init gate.
type foreignRepository struct {
	t    *testing.T
	dir  string
	gate workflowFile
}

// A workflowFile has what a runner reads of a workflow.
type workflowFile struct {
	Jobs map[string]struct {
		Env   map[string]string
		Steps []struct {
			Name, ID, If, Run, Uses string
		}
	}
}

const exampleLock = "../../workloads/foreign/examples/zk-lock/main.go"

// newForeignRepository makes the repository with a first commit, which is the base of its pull requests.
func newForeignRepository(t *testing.T, args ...string) *foreignRepository {
	t.Helper()
	r := &foreignRepository{t: t, dir: filepath.Join(t.TempDir(), "theirs")}
	source, err := os.ReadFile(exampleLock)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	var zkSums []string
	for line := range strings.Lines(string(sums)) {
		if strings.HasPrefix(line, "github.com/go-zookeeper/zk ") {
			zkSums = append(zkSums, line)
		}
	}
	version := strings.Fields(zkSums[0])[1]
	r.write("main.go", string(source))
	r.write("go.mod", "module example.org/theirs\n\ngo 1.26\n\nrequire github.com/go-zookeeper/zk "+version+"\n")
	r.write("go.sum", strings.Join(zkSums, ""))
	binary := labtest.Binary(t)
	cmd := exec.Command(binary, append([]string{"init", "gate", r.dir, "--build",
		"CGO_ENABLED=0 go build -trimpath -buildvcs=false -o bin/lock .", "--lock", "bin/lock", "--layout", "queue",
		"--url", "file://" + binary}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("init gate: %v\n%s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(r.dir, gate.WorkflowFile))
	if err == nil {
		err = yaml.Unmarshal(b, &r.gate)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.git("init", "--quiet", "--initial-branch", "main")
	r.commit("Their lock and its gate")
	r.git("update-ref", "refs/remotes/origin/main", "HEAD")
	return r
}

func (r *foreignRepository) write(name, text string) {
	r.t.Helper()
	to := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *foreignRepository) git(args ...string) {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=them", "-c", "user.email=them@example.org"}, args...)...)
	cmd.Dir = r.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (r *foreignRepository) commit(message string) {
	r.t.Helper()
	r.git("add", "--all")
	r.git("commit", "--quiet", "--allow-empty", "--message", message)
}

// change makes a pull request of one commit that replaces a text of the lock.
func (r *foreignRepository) change(old, replacement string) {
	r.t.Helper()
	file := filepath.Join(r.dir, "main.go")
	b, err := os.ReadFile(file)
	if err != nil || !bytes.Contains(b, []byte(old)) {
		r.t.Fatalf("%v: no %q in %s", err, old, file)
	}
	r.write("main.go", strings.ReplaceAll(string(b), old, replacement))
	r.commit("A change of the lock")
}

// A workflowRun is what became of the workflow of a pull request.
type workflowRun struct {
	failed  string // the step that failed; "" if none did
	code    string // which the step Compare put out
	summary string
	log     string
}

// run stands in for the runner: it executes the workflow's scripts, in a fresh clone, as GitHub's runner does. Actions
// that others publish are the runner's, and a comment needs GitHub.
func (r *foreignRepository) run() workflowRun {
	r.t.Helper()
	clone, temp := filepath.Join(r.t.TempDir(), "clone"), r.t.TempDir()
	r.git("clone", "--quiet", r.dir, clone)
	fetch := exec.Command("git", "-C", clone, "update-ref", "refs/remotes/origin/main", "HEAD~")
	if out, err := fetch.CombinedOutput(); err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	output, summary := filepath.Join(temp, "output"), filepath.Join(temp, "summary")
	job := r.gate.Jobs["compare"]
	env := append(os.Environ(), "RUNNER_TEMP="+temp, "GITHUB_BASE_REF=main", "GITHUB_OUTPUT="+output,
		"GITHUB_STEP_SUMMARY="+summary)
	for k, v := range job.Env {
		env = append(env, k+"="+v)
	}
	var w workflowRun
	for _, step := range job.Steps {
		pullRequest := !strings.Contains(step.If, "schedule") && step.Name != "Comment"
		if step.Run == "" || !pullRequest || w.failed != "" && !strings.Contains(step.If, "always()") {
			continue
		}
		cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", step.Run)
		cmd.Dir, cmd.Env = clone, env
		out, err := cmd.CombinedOutput()
		w.log += "## " + step.Name + "\n" + string(out)
		if err != nil && w.failed == "" {
			w.failed = step.Name
		}
	}
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			r.t.Fatalf("%v\n%s", err, w.log)
		}
		return string(b)
	}
	w.summary = read(summary)
	w.code = strings.TrimSpace(strings.TrimPrefix(read(output), "code="))
	return w
}

// Somebody else's repository has a gate after two files were written to it. It is 3 on a broken lock, 6 where the time
// does not suffice to know, red on a slowed lock, and green on the same. The delay and the tolerance are such that a
// busy machine can tell the last two apart.
func TestTheGateOfAForeignRepository(t *testing.T) {
	if testing.Short() {
		t.Skip("needs an ensemble")
	}
	labtest.Require(t)
	release := "switch err := a.lock.Unlock(); {"
	for _, c := range []struct {
		name, budget, old, replacement string
		failed, code, summary          string
		long                           bool
	}{
		{"broken", "3m", "switch err := a.lock.Lock(); {", "switch err := error(nil); {", "Compare", "3",
			"locklab: violation", false},
		{"too little time", "15s", "// serve answers", "// serve  answers", "", "6", "locklab: inconclusive", true},
		{"slowed", "3m", release, "time.Sleep(30 * time.Millisecond)\n\t" + release, "Compare", "5",
			"locklab: regressed", true},
		{"the same", "3m", "// serve answers", "// serve  answers", "", "0", "locklab: pass", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long {
				suite.Nightly(t, "takes a minute or more of a quiet machine; the broken lock is measured every time")
			}
			r := newForeignRepository(t, "--budget", c.budget, "--metric", "acquire.p50", "--tolerate", "acquire.p50=90%")
			r.change(c.old, c.replacement)
			w := r.run()
			if w.failed != c.failed || w.code != c.code || !strings.Contains(w.summary, c.summary) {
				t.Errorf("step %q failed with %s, want %q with %s\n%s\n%s", w.failed, w.code, c.failed, c.code, w.log, w.summary)
			}
			if !strings.Contains(w.summary, "3 servers (each write waits for 2)") {
				t.Errorf("the summary does not say what was measured:\n%s", w.summary)
			}
		})
	}
}

// Each night adds its answer to those of the nights before, and the summary says how many called a change.
func TestTheGateCountsItsFalseAlarms(t *testing.T) {
	suite.Tool(t, "jq", "setup-readers")
	theirs := t.TempDir()
	init := exec.Command(labtest.Binary(t), "init", "gate", theirs, "--build", "make lock", "--lock", "bin/lock", "--url",
		"https://example.org/locklab")
	if out, err := init.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var w workflowFile
	b, err := os.ReadFile(filepath.Join(theirs, gate.WorkflowFile))
	if err == nil {
		err = yaml.Unmarshal(b, &w)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "\n  schedule:\n") {
		t.Error("the workflow does not run at night")
	}
	script := ""
	for _, s := range w.Jobs["compare"].Steps {
		if s.Name == "Count false alarms" {
			script = s.Run
		}
	}
	dir, summary := t.TempDir(), filepath.Join(t.TempDir(), "summary")
	for _, verdict := range []string{"pass", "regressed", "inconclusive", "improved", "pass"} {
		file := filepath.Join(dir, "runs", "compare.json")
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
			os.WriteFile(file, []byte(`{"verdict": "`+verdict+`"}`), 0o644)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "-e", "-o", "pipefail", "-c", script)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GITHUB_STEP_SUMMARY="+summary)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	const want = "Same code: 2 of 5 nights called a change, 1 inconclusive.\n"
	b, err = os.ReadFile(summary)
	if err != nil || !strings.HasSuffix(string(b), want) || strings.Count(string(b), "\n") != 5 {
		t.Errorf("%v\n%s", err, b)
	}
}
