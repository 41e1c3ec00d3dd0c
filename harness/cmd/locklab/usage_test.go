package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The values of flags that are not keys are refused in the words of those that are. Nothing but the refusal is said,
// and a directory without what a command needs is refused before anything else in it is looked at.
func TestRefusedUsage(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nonexistent")
	t.Setenv(withoutNetns())
	t.Chdir(t.TempDir())
	for _, dir := range []string{"empty", "other"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("unix", filepath.Join("other", "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const noRun = "not a run directory: "
	old, err := filepath.Abs("old")
	if err == nil {
		err = os.CopyFS(old, os.DirFS(recordRun(t, "", "complete", 190)))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"danger --doses 0.5,x", `--doses: "x" is not a number (`},
		{"danger --doses -1", `--doses: a pause of -1 session timeouts (from 0.05 to 20 session timeouts)`},
		{"danger --budget 10", `--budget: "10" is not a duration (the unit is missing: 10s or 10ms)`},
		{"danger --budget -10m", `--budget: -10m0s (such as 30m)`},
		{"danger --trials many", `--trials: "many" is not a whole number (`},
		{"danger --seed -1", `--seed: "-1" is not a whole number from 0 to `},
		{"danger --guards", `--guards: the value is missing; write --guards=VALUE`},
		{"danger --band NaN", `--band: "NaN" is not a number`},
		{"repro none --attempts -1", `--attempts: -1 runs (1 or more)`},
		{"plan old --clients -1", `--clients: -1 is out of range (above 0)`},
		{"danger --victims 0", `--victims: 0 victims (from 1 to 60)`},
		{"danger --hold 0", `--hold: a hold of 0s with a session timeout of 1s (`},
		{"danger --servers 2", `--servers: an ensemble of 2 servers is not one that locklab starts (1, 3 or 5)`},
		{"danger --lab podman", `--lab: unknown value "podman" (`},
		{"danger --tick -5ms", `--tick: tick of -5ms is out of range (`},
		{"danger --session-timeout 10h", `--session-timeout: session-timeout of 10h is out of range (`},
		{"danger --recipe nosuch", `--recipe: unknown value "nosuch" (`},
		{"bench --metric p99", `cannot compare: no metric "p99" (known: acquire.p99, handoff.p99, `},
		{"clean --connect-auth env:X", `--connect: the other flags say how to reach an ensemble, and none is named (`},
		{"clean --connect zk1", `--connect: server "zk1": want host:port`},
		{"run --connect 127.0.0.1:1 --connect-auth file:nowhere", `--connect-auth: open nowhere: no such file`},
		{"run --connect=", `--connect: the value is empty (drop the flag, or set the variable that its value comes from)`},
		{"run --out=", `--out: the value is empty (`},
		{"bench --vs=", `--vs: the value is empty (`},
		{"clean --connect=", `--connect: the value is empty (`},
		{"run -clients 5", `-clients: flags begin with two dashes (--clients)`},
		{"run --connect 127.0.0.1:1,127.0.0.1:1", `--connect: server "127.0.0.1:1" is named twice (`},
		{"run --connect 127.0.0.1:1 --lab docker", `--lab: with connect, clients are processes of this machine or pods`},
		{"run --connect 127.0.0.1:1 --servers 3", `--servers: connect names one server, and the scenario has 3 (`},
		{"run --connect 127.0.0.1:1 --txnlog-dir a,b", `--txnlog-dir: txnlog-dir names 2 paths for one server (`},
		{"run --clients 1", `--clients: one client for 2 client processes (`},
		{"run --victims 3", `--victims: victims says how many processes run one client, which needs victim-alone ` +
			`(--victim-alone=true)`},
		{"report old --format gif", `--format: unknown value "gif" (known: svg, png)`},
		{"advise --pauses file --pauses-in s", `--pauses-in: unknown value "s" (known: ns, us, ms)`},
		{"advise --pauses p50=2ms,max=3s,count=9,over=24h --clients 0", `--clients: 0 is out of range (from 1 to 1000000)`},
		{"danger --guards fencing,fencing", `--guards: fencing is given twice (each guard once)`},
		{"demo --out old", "old holds a run already; choose another directory with --out"},
		{"run no-such-scenario-at-all", `unknown scenario "no-such-scenario-at-all" (see locklab scenarios list)`},
		{"run other", `unknown scenario "other" (that is a directory; `},

		{"check empty", "check empty: " + noRun + "empty has no scenario.yaml"},
		{"check other", "check other: " + noRun + "other has no scenario.yaml"},
		{"check nowhere", "check nowhere: " + noRun + "there is no directory nowhere"},
		{"check file", "check file: " + noRun + "file is not a directory"},
		{"report other", "report other: " + noRun + "other has no scenario.yaml"},
		{"export other", "export other: " + noRun + "other has no scenario.yaml"},
		{"check .", "check .: " + noRun + ". has no scenario.yaml; it is a folder of runs"},
		{"plan empty", "plan: no sweep in empty"},
		{"plan other", "plan: no sweep in other"},
		{"plan nowhere", "plan: no sweep: there is no directory nowhere"},
		{"plan file", "plan: no sweep: file is not a directory"},
		{"plan old", "plan: no sweep in old; it holds a run, which locklab check and locklab report read"},
		{"sweep --resume other", "sweep --resume: no sweep in other"},
		{"danger --resume other", "danger --resume: no danger measurement in other"},
		{"compare empty empty", "cannot compare: empty holds no run: "},
		{"compare other other", "cannot compare: other holds no run: "},
		{"compare old", "cannot compare: two run directories, or two folders of them, are needed"},

		{"run --out old", "old holds a run already; choose another directory with --out"},
		{"run --out other", "other is not empty; choose another directory with --out"},
		{"run --out file", "file is not a directory; choose another directory with --out"},
		{"run --out file/new/run", "file is not a directory; choose another directory with --out"},
		{"bench --out old", "old holds a run already; choose another directory with --out"},
		{"repro lost-wakeup --out old", "old holds a run already; choose another directory with --out"},
		{"sweep --param clients=1,2 --out other", "other is not empty; choose another directory with --out"},
		{"bench --zookeeper ./nosuch", "--zookeeper: ./nosuch: "},
	} {
		code, stdout, stderr := runCLI(t, strings.Fields(c.args)...)
		if code != exitInput || stdout != "" || !strings.HasPrefix(stderr, "locklab: "+c.want) ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, stdout %q, stderr\n%swant\nlocklab: %s…", c.args, code, stdout, stderr, c.want)
		}
	}
	if made, _ := filepath.Glob("runs"); made != nil {
		t.Errorf("there is %v", made)
	}
}

// Who makes a mistake with a command is sent to the help of that command.
func TestUsageErrorsNameTheirHelp(t *testing.T) {
	for name := range exitsOf {
		code, stdout, stderr := runCLI(t, append(strings.Fields(name), "--no-such-flag")...)
		if name == "driver check" { // takes it for the command that is to be tried
			code, stdout, stderr = runCLI(t, strings.Fields(name)...)
		}
		if code != exitInput || stdout != "" || !strings.HasSuffix(stderr, " (see locklab help "+name+")\n") {
			t.Errorf("%s: exit code %d, stdout %q, stderr %q", name, code, stdout, stderr)
		}
		help := append([]string{"help"}, strings.Fields(name)...)
		if code, stdout, _ := runCLI(t, help...); code != exitOK || !strings.Contains(stdout, "Usage: locklab "+name) {
			t.Errorf("%q: exit code %d\n%s", help, code, stdout)
		}
	}
	for args, want := range map[string]string{"nosuch": "--help", "init": "help init", "driver nosuch": "help driver"} {
		code, _, stderr := runCLI(t, strings.Fields(args)...)
		if code != exitInput || !strings.HasSuffix(stderr, " (see locklab "+want+")\n") {
			t.Errorf("%s: exit code %d, stderr %q", args, code, stderr)
		}
	}
}
