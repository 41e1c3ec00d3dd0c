package simulate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"locklab/ensembles"
	"locklab/ensembles/labtest/suite"
	"locklab/harness/check/evidence"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/simulate"
	"locklab/workloads"
	"locklab/workloads/lock"
)

// builtin returns a built-in scenario for the lab.
func builtin(t *testing.T, name string, seed uint64) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Builtin(workloads.Builtin, name)
	if err != nil {
		t.Fatal(err)
	}
	sc.Lab, sc.Seed = ensembles.LabSim, seed
	return sc
}

// staged are the built-in scenarios that can be simulated.
var staged = []string{"mutex-calm", "mutex-pause", "mutex-pause-lost-context", "mutex-pause-fencing", "read-write",
	"read-write-pause", "semaphore", "mutex-client-partition", "mutex-leader-partition", "mutex-server-kill", "impatient"}

// Built-in scenarios have the verdicts that they have on real servers, by records that are whole: no check is unknown.
func TestScenarios(t *testing.T) {
	seeds := uint64(1)
	if suite.All() {
		seeds = 10
	}
	for _, name := range staged {
		seeds := seeds
		if name == "mutex-client-partition" {
			seeds = 1 // whether its fault finds a client at the point depends on the seed
		}
		for seed := range seeds {
			t.Run(fmt.Sprint(name, "/", seed+1), func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(t.TempDir(), "run")
				sc := builtin(t, name, seed+1)
				if err := errors.Join(simulate.Refuse(sc), simulate.Scenario(t.Context(), sc, dir)); err != nil {
					t.Fatal(err)
				}
				out, err := judge.Check(dir)
				if err != nil {
					t.Fatal(err)
				}
				if out.Result.Verdict != evidence.Pass {
					t.Errorf("the verdict is %s: %s", out.Result.Verdict, out.Result.Headline)
				}
				for i := range out.Report.Checks {
					if c := &out.Report.Checks[i]; c.Outcome() == evidence.Unknown {
						t.Errorf("%s is unknown: %s", c.Name, c.Summary)
					}
				}
				if all := strings.Join(out.Result.Caveats, "\n"); !strings.Contains(all, "the ensemble is simulated") {
					t.Errorf("the result does not say that the ensemble is simulated; it warns %q", all)
				}
			})
		}
	}
}

// A reduced violation becomes a scenario that shows it again, without faults and with some, and that can be read back.
func TestReplays(t *testing.T) {
	for _, of := range []struct {
		recipe string
		seed   uint64
		kinds  []string // of its faults
	}{{"broken-lost-wakeup", 10, nil}, {"broken-local-reentry", 12, []string{"expire-session"}}} {
		t.Run(of.recipe, func(t *testing.T) {
			t.Parallel()
			r, _ := lock.Find(of.recipe)
			x, err := simulate.Shrink(t.Context(), simulate.Seed(r, of.seed, true))
			if err != nil {
				t.Fatal(err)
			}
			written, err := x.Scenario()
			if err != nil {
				t.Fatal(err)
			}
			sc, err := scenario.Load("replay.yaml", written.Marshal())
			if err != nil {
				t.Fatalf("%v\n%s", err, written.Marshal())
			}
			for _, f := range sc.Faults {
				if !slices.Contains(of.kinds, f.Kind) || f.Trigger == "" {
					t.Errorf("its faults have %v", f)
				}
			}
			if (len(sc.Faults) == 0) != (len(of.kinds) == 0) {
				t.Errorf("it has %d faults", len(sc.Faults))
			}
			sc.Lab, sc.Seed = ensembles.LabSim, 1
			dir := filepath.Join(t.TempDir(), "run")
			if err := errors.Join(simulate.Refuse(sc), simulate.Scenario(t.Context(), sc, dir)); err != nil {
				t.Fatal(err)
			}
			out, err := judge.Check(dir)
			if err != nil {
				t.Fatal(err)
			}
			if c := out.Report.Check(x.Finding.Check); c.Result != evidence.Fail {
				t.Errorf("%s is %s: %s", x.Finding.Check, c.Result, out.Result.Headline)
			}
		})
	}
}

// A scenario with a seed has the same history in each execution.
func TestScenarioIsRepeated(t *testing.T) {
	for _, name := range []string{"mutex-pause", "mutex-client-partition", "semaphore"} {
		var histories [2][]byte
		for i := range histories {
			dir := filepath.Join(t.TempDir(), "run")
			if err := simulate.Scenario(t.Context(), builtin(t, name, 3), dir); err != nil {
				t.Fatal(err)
			}
			if _, err := judge.Check(dir); err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(filepath.Join(dir, rundir.HistoryFile))
			if err != nil {
				t.Fatal(err)
			}
			histories[i] = b
		}
		if !bytes.Equal(histories[0], histories[1]) {
			t.Errorf("%s: two executions differ", name)
		}
	}
}

// What the model does not have is refused by name, before anything starts.
func TestRefuse(t *testing.T) {
	for name, want := range map[string]string{
		"multi-lock":          "lab sim cannot run multi: several locks at once are not simulated",
		"jitter":              "lab sim has no latency, only pause, kill, partition, reset, expire-session",
		"failover-leader":     "lab sim has ZooKeeper's own limits of session timeouts",
		"hot-locks":           `lab sim cannot judge "acquired_per_s > 60": its times are those of its model`,
		"swarm":               "was drawn)",
		"mutex-1000":          "lab sim cannot have 1000 clients (at most 200)",
		"isolated-follower":   "lab sim spreads sessions over all servers",
		"followers-slow-disk": "lab sim has no slow-disk",
		"open-loop":           "lab sim has no open loop, as it measures no latencies",
	} {
		if err := simulate.Refuse(builtin(t, name, 1)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is refused with %v, and should be with %q", name, err, want)
		}
	}
}

// A round trip, even of 0, is refused, because nothing would be relayed.
func TestRefuseRoundTrip(t *testing.T) {
	sc := builtin(t, "mutex-calm", 1)
	if err := simulate.Refuse(sc); err != nil {
		t.Fatal(err)
	}
	if err := sc.Set("round-trip", "0s"); err != nil {
		t.Fatal(err)
	}
	if err := simulate.Refuse(sc); err == nil || !strings.Contains(err.Error(), "lab sim has no relays") {
		t.Errorf("refused with %v", err)
	}
}

// A run that is interrupted leaves a record that says so.
func TestInterruptedScenario(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	dir := filepath.Join(t.TempDir(), "run")
	if err := simulate.Scenario(ctx, builtin(t, "mutex-calm", 1), dir); !errors.Is(err, enough) {
		t.Errorf("the error is %v", err)
	}
	out, err := judge.Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !out.Interrupted || out.Result.Verdict == evidence.Pass {
		t.Errorf("interrupted: %t, verdict %s", out.Interrupted, out.Result.Verdict)
	}
}
