package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"locklab/harness/scenario"
)

// valuesOf has three values for each key, which differ from each other and from the default where the key has enough.
var valuesOf = map[string][3]string{
	"arrivals":        {"poisson", "uniform", "closed"},
	"client-image":    {"a", "b", "c"},
	"connect":         {"a:1", "a:1,b:2,c:3/d", "d:4"},
	"connect-auth":    {"env:A", "file:/b", "env:C"},
	"downgrade-share": {"0.1", "0.2", "0.3"},
	"die-share":       {"0.1", "0.2", "0.3"},
	"drain":           {"cancel", "finish", "cancel"},
	"fault-kinds":     {"pause", "kill:2", "pause:3,kill"},
	"fault-length":    {"1s", "1s..2s", "0.5T..expiry"},
	"guard":           {"fencing", "none", "fencing"},
	"heap":            {"64MiB", "65MiB", "66MiB"},
	"hold":            {"exponential(5ms)", "uniform(1ms..9ms)", "log-normal(5ms, 0.5)"},
	"jvm":             {"production", "lab", "production"},
	"lab":             {"docker", "auto", "docker"},
	"layout":          {"queue", "__lock__#", "write-#,read-#"},
	"liveness":        {"2s", "1s", "auto"},
	"lock-choice":     {"zipf(1)", "zipf(2)", "uniform"},
	"placement":       {"leader", "own-follower", "leader"},
	"rate":            {"11", "12..13", "14,15"},
	"read-share":      {"0.1", "0.2", "0.3"},
	"recipe":          {"naive-mutex", "rw", "none"},
	"resize":          {"5 every 1s", "6 every 1s", "7 every 1s"},
	"round-trip":      {"11ms", "0s", "13ms"},
	"schedule":        {"random", "swarm", "explicit"},
	"section":         {"none", "counter", "none"},
	"seed":            {"1", "2", "3"},
	"servers":         {"1", "5", "3"},
	"storage":         {"tmpfs", "disk", "tmpfs"},
	"workload":        {"read-write", "semaphore", "multi-lock"},
}

// threeValues returns the values to try a key with: those of valuesOf, or values of the form of its default.
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

// Every key takes its value from the flag, else from the variable, else from the file, else from the default, and
// OriginOf says from which.
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

// Explain prints a file that loads like Marshal's, and says of each value where it came from.
func TestExplain(t *testing.T) {
	s := mustLoad(t, `clients: 5
workload: read-write
thresholds:
  - overlaps == 0
expect:
  effect: any
faults:
  - {kind: pause, target: c1, at: 1s, for: 2s}
`)
	if err := s.Set("hold", "3ms"); err != nil {
		t.Fatal(err)
	}
	if err := s.ApplyEnv(environ(map[string]string{"LOCKLAB_LOCKS": "7"})); err != nil {
		t.Fatal(err)
	}
	s.Seed = 9
	explained := string(s.Explain())
	for _, want := range []string{
		"clients: 5", "dir/some-run.yaml:1", "hold: 3ms", "--hold", "locks: 7", "LOCKLAB_LOCKS", "recipe: rw", "derived",
		"seed: 9", "drawn", "servers: 3", "default", "  - overlaps == 0", "dir/some-run.yaml:4",
		"  effect: any", "dir/some-run.yaml:6", "    for: 2s", "dir/some-run.yaml:8",
	} {
		if !strings.Contains(explained, want) {
			t.Errorf("no %q in\n%s", want, explained)
		}
	}
	for line := range strings.Lines(explained) {
		_, origin, found := strings.Cut(line, "  # ")
		if opensBlock := strings.HasSuffix(line, ":\n"); found == opensBlock || found && strings.TrimSpace(origin) == "" {
			t.Errorf("a value without an origin, or an origin without a value: %q", line)
		}
	}
	reread := mustLoad(t, explained)
	reread.Name = s.Name
	if a, b := string(s.Marshal()), string(reread.Marshal()); a != b {
		t.Errorf("explained:\n%s\nwant\n%s", b, a)
	}
}
