package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"locklab/harness/console"
	"locklab/workloads"
	"locklab/workloads/foreign/examples"
	"locklab/workloads/lock"
)

// init driver writes an example in each language, once, and says what is left to do.
func TestInitDriver(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, d := range examples.Drivers {
		file := d.Language + "-" + d.File
		code, stdout, stderr := runCLI(t, "init", "driver", "--language", d.Language, file)
		if code != exitOK || stdout != file+"\n" || !strings.Contains(stderr, "locklab driver check ./") ||
			!strings.Contains(stderr, d.Change) {
			t.Errorf("%s: exit code %d\n%s%s", d.Language, code, stdout, stderr)
		}
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode()&0o100 != 0 != d.Script {
			t.Errorf("%s has mode %v", file, info.Mode())
		}
		written, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"locklab-lock 1 ", "workloads/foreign/PROTOCOL.md"} {
			if !strings.Contains(string(written), what) && d.Language != "go" {
				t.Errorf("%s has no %q", file, what)
			}
		}
	}
	code, _, stderr := runCLI(t, "init", "driver", "--language", "go", "go-main.go")
	if code != exitInput || stderr != "locklab: init driver: go-main.go exists (remove it first; nothing was written)\n" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	// Who names no language, or another one, is told which there are.
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--language", "cobol"}, exitInput,
			"locklab: --language: unknown value \"cobol\" (known: go, python, java, shell)\n"},
		{nil, exitInput, "locklab: missing flags: --language=go|python|java|shell (see locklab help init driver)\n"},
		{[]string{"--help"}, exitOK, "--language=go|python|java|shell"},
	} {
		code, stdout, stderr := runCLI(t, append([]string{"init", "driver"}, c.args...)...)
		if code != c.code || !strings.Contains(stdout+stderr, c.want) || strings.Count(stderr, "\n") != min(c.code, 1) {
			t.Errorf("%q: exit code %d\n%s%s", c.args, code, stdout, stderr)
		}
	}
}

// driver check prints a line for each case, and ends with 3 if anything is wrong.
func TestDriverCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	writeExecutable(t, "mylock", `#!/bin/sh
echo locklab-lock 1 per-client
while read -r verb id rest; do
  case $verb in
  open) echo "opened $id" ;;
  acquire) echo "granted $id" ;;
  release) echo "released $id" ;;
  close) echo "closed $id" ;;
  end) exit ;;
  esac
done
`)
	for _, command := range []string{"./mylock", "exec:./mylock"} {
		code, stdout, stderr := runCLI(t, "driver", "check", command)
		if code != exitViolation || !strings.Contains(stdout, "exclude                     wrong     two clients hold") ||
			!strings.HasSuffix(stdout, " wrong.\n") || stderr != "" {
			t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
		}
	}
	// What the driver says on its standard error is told from what locklab says.
	writeExecutable(t, "talker", "#!/bin/sh\nprintf 'no \\033[31m lock\\n' >&2\n")
	code, stdout, stderr := runCLI(t, "driver", "check", "./talker")
	if code != exitViolation || stderr == "" || strings.Contains(stdout, "driver: ") ||
		strings.ReplaceAll(stderr, "driver: no \\x1b[31m lock\n", "") != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, command := range []string{"./nowhere", ".", "exec:"} {
		code, stdout, stderr := runCLI(t, "driver", "check", command)
		if code != exitInput || stdout != "" || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q", command, code, stderr)
		}
	}
}

// What another program says is passed on line by line, however it comes.
func TestQuoted(t *testing.T) {
	var b strings.Builder
	q := &quoted{to: &b}
	long := strings.Repeat("x", 4096)
	for _, part := range []string{"one", " line\n\ntwo\nth", "ree", long, "end", "", ""} {
		if n, err := q.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	want := "driver: one line\ndriver: \ndriver: two\ndriver: three" + long + "\ndriver: end\n"
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// init scenario writes a scenario that run accepts, for each question and workload.
func TestInitScenario(t *testing.T) {
	t.Chdir(t.TempDir())
	n := 0
	for _, question := range questions {
		recipes := []string{"exec:./mylock"}
		for _, workload := range workloads.All {
			recipes = append(recipes, lock.Default(workload))
		}
		for _, recipe := range recipes {
			file := fmt.Sprintf("%d.yaml", n)
			n++
			code, stdout, stderr := runCLI(t, "init", "scenario", file, "--question", question, "--recipe", recipe,
				"--clients", "6", "--hold", "5ms")
			if code != exitOK || stdout != file+"\n" {
				t.Errorf("%s, %s: exit code %d\n%s%s", question, recipe, code, stdout, stderr)
				continue
			}
			if code, _, stderr := runCLI(t, "run", file, "--dry-run"); code != exitOK {
				t.Errorf("%s, %s: run: exit code %d\n%s", question, recipe, code, stderr)
			}
		}
	}
	for flag, value := range map[string]string{
		"--question": "why", "--recipe": "nosuch", "--clients": "1", "--hold": "5"} {
		args := []string{"init", "scenario", "never.yaml"}
		for f, v := range map[string]string{
			"--question": "speed", "--recipe": "mutex", "--clients": "6", "--hold": "5ms"} {
			if f == flag {
				v = value
			}
			args = append(args, f, v)
		}
		code, stdout, stderr := runCLI(t, args...)
		if code != exitInput || stdout != "" || !strings.HasPrefix(stderr, "locklab: "+flag) ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s %s: exit code %d, %q", flag, value, code, stderr)
		}
	}
	if made, _ := filepath.Glob("never.yaml"); made != nil {
		t.Error("a file was written")
	}
}

// What no flag answers is asked. An empty answer, and the end of the input, mean what stands in brackets.
func TestInitScenarioAsks(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, said bytes.Buffer
	code := execute(t.Context(), []string{"init", "scenario", "My Pause.yaml"},
		console.Streams{Out: &out, Err: &said, In: strings.NewReader("pause\n\n12\n")})
	stderr := said.String()
	if code != exitOK || strings.Count(stderr, "? ") != 4 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	made, err := os.ReadFile("My Pause.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"name: my-pause\n", "clients: 12\n", "recipe: mutex ", "hold: 20ms ", "  - kind: pause\n"} {
		if !strings.Contains(string(made), line) {
			t.Errorf("no %q in\n%s", line, made)
		}
	}
}
