package drivercheck

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"locklab/ensembles/labtest/suite"
	"locklab/ensembles/reach"
	"locklab/ensembles/remote"
	"locklab/recipes/zktest"
	"locklab/workloads/foreign/examples"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// results tries a command. Its results are by the names of their cases.
func results(t *testing.T, patience time.Duration, argv ...string) map[string]Result {
	t.Helper()
	return resultsOf(t, Config{Argv: argv, patience: patience})
}

func resultsOf(t *testing.T, cfg Config) map[string]Result {
	t.Helper()
	cfg.Stderr = t.Output()
	all := map[string]Result{}
	err := Run(t.Context(), cfg, func(r Result) {
		t.Logf("%s: %s: %s", r.Case, r.Outcome, r.Text)
		all[r.Case] = r
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// build builds a command of this module.
func build(t *testing.T, dir string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// example writes an example, as init driver does, and returns where it is.
func example(t *testing.T, language string) string {
	t.Helper()
	d := examples.Drivers[slices.IndexFunc(examples.Drivers,
		func(d examples.Driver) bool { return d.Language == language })]
	source, err := d.Source()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), d.File)
	if err := os.WriteFile(file, source, 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// sound fails the test if anything is wrong with a driver, or a case was not tried that its lock has.
func sound(t *testing.T, all map[string]Result, leftOut ...string) {
	t.Helper()
	for _, c := range checks {
		r, tried := all[c.name]
		if !tried || r.Outcome == Wrong || (r.Outcome == Skipped) != slices.Contains(leftOut, c.name) {
			t.Errorf("%s: %s: %s", c.name, r.Outcome, r.Text)
		}
	}
}

const debianJars = "/usr/share/java"

// needs skips a test that needs a file of a package, which make setup installs.
func needs(t *testing.T, file string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds or starts programs for a few seconds")
	}
	if _, err := os.Stat(file); err != nil {
		t.Skip(err)
	}
}

// Nothing is wrong with the drivers that init driver writes.
func TestExamples(t *testing.T) {
	t.Parallel()
	t.Run("go", func(t *testing.T) {
		t.Parallel()
		needs(t, "../examples/zk-lock")
		sound(t, results(t, 0, build(t, "../examples/zk-lock")))
	})
	t.Run("python", func(t *testing.T) {
		t.Parallel()
		needs(t, "/usr/lib/python3/dist-packages/kazoo")
		sound(t, results(t, 0, "/usr/bin/python3", example(t, "python")))
		tokens := results(t, 0, "/usr/bin/python3", example(t, "python"), "--tokens")["acquire"]
		if tokens.Outcome != OK || !strings.Contains(tokens.Text, "rising tokens") {
			t.Errorf("%+v", tokens)
		}
	})
	t.Run("java", func(t *testing.T) {
		t.Parallel()
		suite.Nightly(t, "starts a JVM for each case; those in Go and Python are tried")
		needs(t, debianJars+"/zookeeper.jar")
		needs(t, "/usr/bin/javac")
		classes := t.TempDir()
		out, err := exec.CommandContext(t.Context(), "javac", "--release", "11", "-cp", debianJars+"/*", "-d", classes,
			example(t, "java")).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		sound(t, results(t, 0, "java", "-XX:TieredStopAtLevel=1", "-cp", classes+":"+debianJars+"/*", "Lock"))
	})
	t.Run("shell", func(t *testing.T) {
		t.Parallel()
		suite.Nightly(t, "starts a JVM for each session of each case; those in Go and Python are tried")
		needs(t, debianJars+"/zookeeper.jar")
		dir := t.TempDir()
		cli := "#!/bin/sh\nexec java -XX:TieredStopAtLevel=1 -cp '" + debianJars +
			"/*' org.apache.zookeeper.ZooKeeperMain \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, "zkCli.sh"), []byte(cli), 0o755); err != nil {
			t.Fatal(err)
		}
		sound(t, results(t, 0, "env", "PATH="+dir+":"+os.Getenv("PATH"), example(t, "shell")), "pings")
	})
}

// Each lock with a known bug that does not need a race is caught, and the sound one of the same program is not.
func TestBrokenLocks(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Parallel()
	program := build(t, "../../../recipes/broken/broken-lock")
	t.Run("sound", func(t *testing.T) {
		t.Parallel()
		sound(t, results(t, 0, program, "sound", "layout=queue", "pings"))
	})
	for _, c := range []struct{ lock, check, want string }{
		{"persistent", "session lost", "the session of its holder is over, so the lock is free"},
		{"recreated", "session lost while waiting", "was over for 3s, and its acquire had no answer"},
	} {
		t.Run(c.lock, func(t *testing.T) {
			t.Parallel()
			r := results(t, 3*time.Second, program, c.lock)[c.check]
			if r.Outcome != Wrong || !strings.Contains(r.Text, c.want) {
				t.Errorf("%s: %s: %s\nwant %s", c.check, r.Outcome, r.Text, c.want)
			}
		})
	}
}

// A command that has semaphores only is tried by a semaphore with one permit.
func TestSemaphoresOnly(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Parallel()
	const script = `sed -u 's/^\(acquire .*\) exclusive /\1 none /; s/^\(acquire .*\) permits:1.1 /\1 exclusive /' | "$0"`
	all := results(t, 0, "sh", "-c", script, build(t, "../examples/zk-lock"))
	sound(t, all)
	if got := all["modes"].Text; got != "it has the modes permits:1/1" {
		t.Error(got)
	}
}

// The cases come out on an ensemble, through a relay, as they do in memory, and leave nothing there.
func TestOnAnEnsemble(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	t.Parallel()
	svc := zktest.StartWith(t, zktest.Config{Servers: 3})
	svc.Put("/mine", nil)
	access := &remote.Access{Ensemble: reach.Ensemble{Servers: svc.Addrs(), Chroot: "/mine", Credential: "me:secret"}}
	for _, c := range []struct {
		name, lock, wrong string
		words             []string
	}{
		{"sound", "../../../recipes/broken/broken-lock", "", []string{"sound", "layout=queue", "pings"}},
		{"zk.Lock", "../examples/zk-lock", "", nil},
		{"persistent", "../../../recipes/broken/broken-lock", "session lost", []string{"persistent"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			argv := append([]string{build(t, c.lock)}, c.words...)
			cfg := Config{Argv: argv, Connect: access}
			if c.wrong != "" {
				cfg.patience = 8 * time.Second // what is due never comes
			}
			all := resultsOf(t, cfg)
			if c.wrong == "" {
				sound(t, all)
			} else if r := all[c.wrong]; r.Outcome != Wrong {
				t.Errorf("%s: %s: %s", c.wrong, r.Outcome, r.Text)
			}
		})
	}
	if n, _ := svc.Node("/mine"); len(n.Children) > 0 || len(svc.Sessions()) > 0 {
		t.Errorf("left: znodes %v, sessions %x", n.Children, svc.Sessions())
	}
}

// An ensemble that cannot be used is named, with the reason.
func TestUnusableEnsemble(t *testing.T) {
	access := &remote.Access{Ensemble: reach.Ensemble{Servers: zktest.Start(t).Addrs(), Chroot: "/nowhere"}}
	err := Run(t.Context(), Config{Argv: []string{"true"}, Connect: access}, func(r Result) { t.Errorf("%+v", r) })
	if !errors.Is(err, remote.ErrUnusable) || !strings.Contains(fmt.Sprint(err), "/nowhere") {
		t.Errorf("%v", err)
	}
}

// What is wrong is said in words, by the case that is about it.
func TestMistakes(t *testing.T) {
	const loop = `while read -r verb id rest; do case $verb in
		open) echo "opened $id" ;; acquire) %s ;; release) echo "released $id" ;; close) echo "closed $id" ;;
		end) exit ;; esac; done`
	grants := fmt.Sprintf(loop, `echo "granted $id"`)
	for _, c := range []struct{ name, script, check, want string }{
		{"no greeting", "echo hello", "open", `line 1 of its output, "hello": expected "locklab-lock 1 per-client"`},
		{"ends", "echo locklab-lock 1 per-client; exit 3", "open", "it has ended: exit status 3"},
		{"refuses to open", `echo locklab-lock 1 per-client; read -r _ id _; echo "failed $id no route"; read -r _`, "open",
			"no route; due is opened ID SESSION"},
		{"says a session that it has not", `echo locklab-lock 1 per-client; read -r _ id _; echo "opened $id 0x12"
			read -r _ id _; echo "closed $id"; read -r _`, "open", "it says session 0x12, but made none at SERVERS"},
		{"grants everybody", "echo locklab-lock 1 per-client; " + grants, "exclude", "two clients hold the lock at once"},
		{"never grants", "echo locklab-lock 1 per-client; " + fmt.Sprintf(loop, `echo "failed $id why not"`), "acquire",
			"why not; due is granted ID"},
		{"tokens that fall", "echo locklab-lock 1 per-client; t=9; " +
			fmt.Sprintf(loop, `echo "granted $id $t"; t=$((t-1))`), "acquire", "7, is not above that of the first, 8"},
		{"no answer to pings", "echo locklab-lock 1 per-client pings; " + grants, "pings", "did not answer one"},
		{"an answer that is none", "echo locklab-lock 1 per-client; " + fmt.Sprintf(loop, `echo ok`), "acquire",
			`"ok": not an answer of the lock protocol`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := results(t, 2*time.Second, "sh", "-c", c.script)
			if r := all[c.check]; r.Outcome != Wrong || !strings.Contains(r.Text, c.want) {
				t.Errorf("%s: %s: %s\nwant %s", c.check, r.Outcome, r.Text, c.want)
			}
			if c.check == "open" && len(all) != 1 {
				t.Errorf("%d more cases were tried", len(all)-1)
			}
		})
	}
}
