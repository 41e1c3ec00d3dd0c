package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"locklab/harness/scenario"
)

// valuesOf are three values of each key that differ from each other and from the
// default, as far as there are so many.
var valuesOf = map[string][3]string{
	"lab": {"docker", "netns", "process"}, "seed": {"1", "2", "3"}, "workload": {"read-write", "semaphore", "multi-lock"},
	"recipe": {"naive-mutex", "rw", "none"}, "client-image": {"a", "b", "c"}, "guard": {"fencing", "none", "fencing"},
	"read-share": {"0.1", "0.2", "0.3"}, "downgrade-share": {"0.1", "0.2", "0.3"}, "drain": {"cancel", "finish", "cancel"},
	"servers": {"1", "5", "3"}, "storage": {"tmpfs", "disk", "tmpfs"}, "heap": {"64MiB", "65MiB", "66MiB"},
	"arrivals": {"poisson", "uniform", "closed"}, "rate": {"11", "12..13", "14,15"}, "lock-choice": {"zipf(1)", "zipf(2)", "uniform"},
	"hold": {"exponential(5ms)", "uniform(1ms..9ms)", "log-normal(5ms, 0.5)"}, "placement": {"leader", "followers", "leader"},
	"section": {"none", "counter", "none"}, "read-burst": {"1s every 5s", "2s every 5s", "3s every 5s"},
	"schedule": {"random", "swarm", "explicit"}, "fault-length": {"1s", "1s..2s", "0.5T..expiry"}, "fault-kinds": {"pause", "kill:2", "pause:3,kill"}, "liveness": {"2s", "1s", "auto"},
	"resize": {"5 every 1s", "6 every 1s", "7 every 1s"},
}

// threeValues returns the values to try a key with: those above, or by what its
// default looks like.
func threeValues(k scenario.Key) [3]string {
	if v, ok := valuesOf[k.Name]; ok {
		return v
	}
	switch {
	case k.Bool:
		return [3]string{"true", "false", "true"}
	case strings.HasSuffix(k.Default, "s") || k.Default == "": // durations that are off by default have none
		if scenario.Defaults().Set(k.Name, "11s") == nil {
			return [3]string{"11s", "12s", "13s"}
		}
	}
	return [3]string{"11", "12", "13"}
}

// Every key takes its value from the flag, else from the variable, else from the file,
// else from the default, and says which it was.
func TestPrecedenceOfEveryKey(t *testing.T) {
	for _, k := range scenario.Keys() {
		v := threeValues(k)
		for sources := range 8 {
			inFile, inEnv, inFlag := sources&1 != 0, sources&2 != 0, sources&4 != 0
			t.Run(fmt.Sprintf("%s/file %t, variable %t, flag %t", k.Name, inFile, inEnv, inFlag), func(t *testing.T) {
				want, origin := k.Default, "default"
				src := "{}"
				if inFile {
					src = k.Name + ": " + v[0]
					want, origin = v[0], "dir/some-run.yaml:1"
				}
				s := mustLoad(t, src)
				if inEnv {
					if err := s.ApplyEnv(environ(map[string]string{k.Env(): v[1]})); err != nil {
						t.Fatal(err)
					}
					want, origin = v[1], k.Env()
				}
				if inFlag {
					if err := s.Set(k.Name, v[2]); err != nil {
						t.Fatal(err)
					}
					want, origin = v[2], "--"+k.Name
				}
				if got := s.OriginOf(k.Name); got != origin {
					t.Errorf("from %s, want %s", got, origin)
				}
				if got := s.Text(k.Name); want != "" && got != want {
					t.Errorf("%q, want %q", got, want)
				}
			})
		}
	}
}

// What Explain prints is the scenario: it loads as Marshal's does, and says of each
// value where it came from.
func TestExplain(t *testing.T) {
	s := mustLoad(t, "clients: 5\nworkload: read-write\nthresholds:\n  - overlaps == 0\nexpect:\n  effect: any\nfaults:\n  - {kind: pause, target: c1, at: 1s, for: 2s}\n")
	if err := s.Set("hold", "3ms"); err != nil {
		t.Fatal(err)
	}
	if err := s.ApplyEnv(environ(map[string]string{"LOCKLAB_LOCKS": "7"})); err != nil {
		t.Fatal(err)
	}
	s.Seed = 9
	explained := string(s.Explain())
	for _, want := range []string{"clients: 5", "dir/some-run.yaml:1", "hold: 3ms", "--hold", "locks: 7", "LOCKLAB_LOCKS", "recipe: rw", "derived", "seed: 9", "drawn",
		"servers: 3", "default", "  - overlaps == 0", "dir/some-run.yaml:4", "  effect: any", "dir/some-run.yaml:6", "    for: 2s", "dir/some-run.yaml:8"} {
		if !strings.Contains(explained, want) {
			t.Errorf("no %q in\n%s", want, explained)
		}
	}
	for line := range strings.Lines(explained) {
		_, origin, found := strings.Cut(line, "  # ")
		if opensBlock := strings.HasSuffix(line, ":\n"); found == opensBlock || found && strings.TrimSpace(origin) == "" {
			t.Errorf("no origin, or one of nothing: %q", line)
		}
	}
	again := mustLoad(t, explained)
	again.Name = s.Name
	if a, b := string(s.Marshal()), string(again.Marshal()); a != b {
		t.Errorf("explained:\n%s\nwant\n%s", b, a)
	}
}
