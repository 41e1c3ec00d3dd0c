package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"locklab/ensembles/debian"
)

// Every malformed or contradictory scenario ends with exit code 2, its position and a hint on stderr, and nothing on
// stdout. Nothing is started, because no engine could answer.
func TestRefusedScenarios(t *testing.T) {
	a, err := txtar.ParseFile("../../scenario/testdata/refused/command.txtar")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_HOST", "unix:///nonexistent")
	t.Setenv(withoutNetns())
	t.Chdir(t.TempDir())
	n := 0
	for i := 0; i+1 < len(a.Files); i += 2 {
		source, want := a.Files[i], strings.TrimSpace(string(a.Files[i+1].Data))
		n++
		t.Run(source.Name, func(t *testing.T) {
			if err := os.WriteFile("f.yaml", source.Data, 0o644); err != nil {
				t.Fatal(err)
			}
			code, stdout, got := runCLI(t, "run", "--lab", "docker", "f.yaml")
			if code != exitInput || stdout != "" {
				t.Errorf("exit code %d, stdout %q", code, stdout)
			}
			if got != "locklab: "+want+"\n" {
				t.Errorf("got  %swant locklab: %s", got, want)
			}
			if found, _ := filepath.Glob("runs/*"); found != nil {
				t.Errorf("there are %v", found)
			}
		})
	}
	if n < 40 {
		t.Errorf("only %d scenarios were tried", n)
	}
}

// A wrong flag or variable is named and ends with exit code 2 too.
func TestRefusedFlags(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nonexistent")
	t.Setenv(withoutNetns())
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		args, env, want string
	}{
		{"--threshold acquire.p99", "", `--threshold: "acquire.p99" is not a threshold (`},
		{"--threshold aquire.p99<50ms", "", `--threshold: no result has a number "aquire.p99" (did you mean acquire.p99?)`},
		{"--threshold acquire.p99<50", "",
			`--threshold: acquire.p99 is a duration, and the limit of "acquire.p99 < 50" is not (`},
		{"--threshold acquire.p99<NaN", "", `--threshold: the limit "NaN" is neither`},
		{"--threshold overlaps==0,,", "", `--threshold: "" is not a threshold`},
		{"--threshold=", "", `--threshold: the value is empty`},
		{"--threshold overlaps==0 --threshold overlaps==1", "",
			`--threshold: two limits of one kind: overlaps == 1 and overlaps == 0 (one of the two)`},
		{"--threshold overlaps<1 mutex-pause", "",
			`--threshold: overlaps < 1 cannot be met where at least 1 must be shown`},
		{"", "LOCKLAB_THRESHOLD=overlaps=0", `LOCKLAB_THRESHOLD: unknown operator "="`},
		{"", "LOCKLAB_THRESHOLD=overlap==0", `LOCKLAB_THRESHOLD: no result has a number "overlap" (did you mean overlaps?)`},
		{"--threshold overlaps==0", "LOCKLAB_THRESHOLD=nonsense", `LOCKLAB_THRESHOLD: "nonsense" is not a threshold`},
		{"--clients NaN", "", `--clients: "NaN" is not a whole number`},
		{"--clients=-1", "", `--clients: clients of -1 is out of range`},
		{"--hold 5", "", `--hold: "5" is not a duration (the unit is missing: 5s or 5ms)`},
		{"--permits 3", "", `--permits: permits belongs to workload semaphore, not to mutex`},
		{"--workload semaphore --recipe rw", "", `--recipe: recipe rw does not serve workload semaphore`},
		{"--read-share 2 read-write", "", `--read-share: read-share of 2 is out of range`},
		{"", "LOCKLAB_CLIENTS=many", `LOCKLAB_CLIENTS: "many" is not a whole number`},
		{"", "LOCKLAB_HOLDD=5ms", `LOCKLAB_HOLDD: no such key (did you mean LOCKLAB_HOLD?)`},
		{"--threshold clients==8", "", `--threshold: no result has a number "clients"`},
		{"--threshold schema_version==1", "", `--threshold: no result has a number "schema_version"`},
		{"--threshold seed>1", "", `--threshold: no result has a number "seed"`},
		{"--threshold fairness.jain<1.5", "",
			`--threshold: "fairness.jain < 1.5" always holds: fairness.jain is from 0 to 1`},
		{"--threshold acquire.p99<60ms --wait 50ms", "",
			`--threshold: acquire.p99 < 60ms cannot be missed, because acquisitions are given up after 50ms`},
		{"", "LOCKLAB_SERVERS=4", `LOCKLAB_SERVERS: an ensemble of 4 servers is not one that locklab starts (1, 3 or 5)`},
		{"--clients -3", "", `--clients: clients of -3 is out of range (from 1 to 100000)`},
		{"--warmup -1s", "", `--warmup: warmup of -1s is out of range (from 0s to 24h)`},
		{"--clients", "", `--clients: the value is missing; write --clients=VALUE`},
		{"--out --json", "", `--out: the value is missing; write --out=VALUE`},
		{"--clients 99999999999999999999", "", `--clients: "99999999999999999999" is too large a number (fewer digits)`},
		{"--threshold p99<50ms", "", `--threshold: no result has a number "p99" (did you mean acquire.p99 or `},
		{"--threshold throughput>5", "", `--threshold: no result has a number "throughput" (a path in result.json`},
		{"--threshold aquire<50ms", "", `--threshold: no result has a number "aquire" (did you mean acquire.`},
		{"--rate 100", "", `--rate: in a closed loop a client asks again when it is done, so there is no rate ` +
			`(--arrivals poisson, or --think 10ms for a pause between acquisitions)`},
		{"", "LOCKLAB_RATE=100", `LOCKLAB_RATE: in a closed loop a client asks again when it is done, so there is no rate ` +
			`(LOCKLAB_ARRIVALS=poisson, or LOCKLAB_THINK=10ms for a pause between acquisitions)`},
		{"--zookeeper 3.9", "", `--zookeeper: "3.9" is none of the numbers of versions that can be had (` +
			debian.Numbers() + `), and not the name of an image; the official image is zookeeper:3.9 (`},
		{"--zookeeper v3.9.3", "", `--zookeeper: "v3.9.3" is none of the numbers of versions that can be had (` +
			debian.Numbers() + `), and not the name of an image; the official image is zookeeper:3.9.3 (`},
		{"--zookeeper ./nosuch", "", `--zookeeper: ./nosuch: `},
		{"--recipe exec:./nosuch", "", `--recipe: the lock's command: `},
		{"--connect zk1:99999", "", `--connect: server "zk1:99999": 99999 is not a port, which is from 1 to 65535`},
	} {
		name, value, _ := strings.Cut(c.env, "=")
		t.Run(c.args+" "+c.env, func(t *testing.T) {
			if name != "" {
				t.Setenv(name, value)
			}
			code, stdout, stderr := runCLI(t, append([]string{"run"}, strings.Fields(c.args)...)...)
			if code != exitInput || stdout != "" || !strings.HasPrefix(stderr, "locklab: "+c.want) {
				t.Errorf("exit code %d, stdout %q, stderr\n%swant\nlocklab: %s…", code, stdout, stderr, c.want)
			}
		})
	}
}
