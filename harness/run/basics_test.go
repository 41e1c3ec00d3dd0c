package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/ensembles/labtest"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/result"
	"locklab/workloads"
)

// small is what the runs of TestStage have in common. All need the same hosts. Without a hold, clients would use up the
// machine, and a run would have thousands of acquisitions to judge. No session ends because the machine stands still
// for a second, as busy machines do; a run whose sessions must end adds [brief].
const small = `
clients: 16
client-processes: 2
hold: 3ms
warmup: 200ms
duration: 1s
min-acquired: 5
session-timeout: 4s
tick: 200ms
sync-limit: 50
storage: tmpfs
seed: 7
`

// brief is the session timeout of a run in which a session ends.
const brief = "session-timeout: 2s"

func load(t testing.TB, src string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Load("test.yaml", []byte(src))
	if err == nil {
		err = sc.Validate()
	}
	if err != nil {
		t.Fatal(err)
	}
	sc.Lab = labtest.Kind()
	return sc
}

// with returns small with other lines for some keys. A key without a value removes its line. The last line may be a
// list.
func with(lines ...string) string {
	all := strings.Split(strings.TrimSpace(small), "\n")
	for _, line := range lines {
		key, value, _ := strings.Cut(line, ":")
		all = slices.DeleteFunc(all, func(l string) bool { return strings.HasPrefix(l, key+":") })
		if value != "" {
			all = append(all, line)
		}
	}
	return strings.Join(all, "\n") + "\n"
}

// openSmall opens a stage for scenarios made of small.
func openSmall(t *testing.T) *Stage {
	t.Helper()
	labtest.Require(t)
	return open(t, load(t, small), Options{Binary: labtest.Binary(t), Log: labtest.Log(t)})
}

// open opens a stage for the time of the test.
func open(t *testing.T, sc *scenario.Scenario, opts Options) *Stage {
	t.Helper()
	stage, err := OpenStage(t.Context(), sc, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	})
	return stage
}

// runOn runs a scenario on the stage and judges it, without drawing it. Its record is whole, whatever faults the run
// had.
func runOn(t *testing.T, stage *Stage, src string) judge.Outcome {
	t.Helper()
	dir, err := os.MkdirTemp(t.ArtifactDir(), "run")
	if err != nil {
		t.Fatal(err)
	}
	showLogs(t, dir)
	if err := stage.Run(t.Context(), load(t, src), dir); err != nil {
		t.Fatal(err)
	}
	if run, err := rundir.Read(dir); err != nil || len(run.Incomplete) > 0 || len(run.Warnings) > 0 {
		t.Errorf("the record is incomplete: %q, warnings %q, %v", run.Incomplete, run.Warnings, err)
	}
	out, err := judge.Check(dir)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// executeBuiltin runs a built-in scenario with some keys set as `locklab run` does, in a lab of its own, and judges it.
func executeBuiltin(t *testing.T, name string, keys map[string]string) judge.Outcome {
	t.Helper()
	sc, err := scenario.Builtin(workloads.Builtin, name)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range keys {
		if err := sc.Set(key, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := result.Validate(sc); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.ArtifactDir(), name) // some tests run several scenarios
	showLogs(t, dir)
	stage, err := OpenStage(t.Context(), sc, Options{Binary: labtest.Binary(t), Log: labtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stage.Run(t.Context(), sc, dir), stage.Close()); err != nil {
		t.Fatal(err)
	}
	out, err := judge.Conclude(dir)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// showLogs prints the ends of the processes' logs and histories if the test fails.
func showLogs(t *testing.T, dir string) {
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		logs, _ := filepath.Glob(filepath.Join(rundir.HostDir(dir, "*"), rundir.ProcessLog(1)))
		for _, name := range logs {
			b, _ := os.ReadFile(name)
			t.Logf("%s, its last bytes:\n%s", name, b[max(0, len(b)-2000):])
		}
		events, records, err := history.ReadRaw(rundir.HostsDir(dir), nil)
		last := map[string]string{}
		for _, e := range events.All() {
			last[e.Process] += e.String() + "\n"
		}
		for process, text := range last {
			t.Logf("history of %s, its last bytes:\n%s", process, text[max(0, len(text)-2000):])
		}
		t.Logf("records: %+v, %v", records, err)
	})
}

func number(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// explain logs the result of a run that should have had another one.
func explain(t *testing.T, out judge.Outcome) {
	t.Helper()
	t.Logf("%s: %s", out.Result.Verdict, out.Result.Headline)
	for _, c := range out.Report.Checks {
		t.Logf("%s: %s (expected %s): %s", c.Name, c.Result, c.Expected, c.Summary)
	}
	for _, w := range out.Result.Warnings {
		t.Logf("warning: %s", w)
	}
}

func wantVerdict(t *testing.T, out judge.Outcome, want evidence.Result) {
	t.Helper()
	if out.Result.Verdict != want {
		t.Errorf("verdict %s, want %s", out.Result.Verdict, want)
		explain(t, out)
	}
}

// Many runs follow one another on one stage, each with locks of its own. Tests begin in the order of their files'
// names, and this one, which takes longest, is the first of those that run beside each other.
func TestStage(t *testing.T) {
	t.Parallel()
	stage := openSmall(t)
	for _, runs := range []struct {
		name string
		test func(*testing.T, *Stage)
	}{
		{"runs", testRuns}, {"loads", testLoads}, {"workloads", testWorkloads}, {"controls", testControls},
		{"servers' word", testServersWord}, {"selectors", testSelectorsOfARun}, {"netem is lacking", testLacksNetem},
	} {
		t.Run(runs.name, func(t *testing.T) { runs.test(t, stage) })
	}
}

// runWithCosts runs a scenario until a run tells the costs per acquisition. A run leaves them out if reading the
// servers' counters took it long, which a busy machine brings about.
func runWithCosts(t *testing.T, stage *Stage, src string) judge.Outcome {
	t.Helper()
	for range 5 {
		out := runOn(t, stage, src)
		wantVerdict(t, out, evidence.Pass)
		if s := out.Result.Server; s.WatchesFiredPerRelease != nil && s.RequestsPerAcquire != nil {
			return out
		}
	}
	t.Fatal("the servers' counters say nothing")
	return judge.Outcome{}
}

// A run directory is complete, however the run ends.
func testRuns(t *testing.T, stage *Stage) {
	var perRelease float64                                         // watches fired for a release of the mutex
	ended := []string{"duration:", "iterations: 40", "warmup: 0s"} // by a count, however slow cold servers are
	t.Run("mutex", func(t *testing.T) {
		out := runWithCosts(t, stage, with(ended...))
		r := out.Result
		if number(r.Safety.Overlaps) != 0 || number(r.Safety.LostUpdates) != 0 || r.Fairness.FIFOInversions == nil ||
			*r.Fairness.FIFOInversions != 0 {
			t.Errorf(
				"overlaps, lost updates, inversions: %d, %d, %v",
				number(r.Safety.Overlaps),
				number(r.Safety.LostUpdates),
				r.Fairness.FIFOInversions,
			)
		}
		perRelease = *r.Server.WatchesFiredPerRelease
		t.Logf(
			"%.0f acquired/s, %.2f requests per acquisition, %.2f watches per release",
			*r.Throughput.AcquiredPerS,
			*r.Server.RequestsPerAcquire,
			perRelease,
		)
		wantReproducible(t, out)
		wantComplete(t, out.Dir, 2)
	})
	t.Run("naive mutex wakes more", func(t *testing.T) {
		w := *runWithCosts(t, stage, with(append(ended, "recipe: naive-mutex")...)).Result.Server.WatchesFiredPerRelease
		if w <= perRelease {
			t.Errorf("watches fired per release: %g, and %g for the mutex", w, perRelease)
		}
	})
	t.Run("no lock is found out", func(t *testing.T) {
		out := runOn(t, stage, with("recipe: none"))
		wantVerdict(t, out, evidence.Fail)
		if s := out.Result.Safety; number(s.Overlaps) < 1 || number(s.LostUpdates) < 1 {
			t.Errorf("overlaps %d, lost updates %d", number(s.Overlaps), number(s.LostUpdates))
		}
		wantReproducible(t, out)
	})
	t.Run("drain: cancel counts the clients that still waited", func(t *testing.T) {
		out := runOn(t, stage, with("warmup: 0s", "hold: 300ms", "drain: cancel", "duration: 2s", "min-acquired: 2"))
		wantVerdict(t, out, evidence.Pass)
		censored := int64(0)
		for _, e := range readHistory(t, out.Dir) {
			if e.Op == history.OpAcquire && e.Kind == history.Fail && e.Detail == history.TextCancelled {
				censored++
			}
		}
		// One client holds the lock at the end, and all others wait.
		if n := out.Result.Operations.Censored; censored < 14 || n != censored {
			t.Errorf("%d acquisitions cancelled at the end, %d counted as censored", censored, n)
		}
	})
	t.Run("interrupted with faults in force", func(t *testing.T) { interrupted(t, stage) })
	t.Run("iterations end by themselves", func(t *testing.T) {
		out := runOn(t, stage, with("duration:", "iterations: 10", "warmup: 0s", "think: 5ms"))
		wantVerdict(t, out, evidence.Pass)
		if n := out.Result.Operations.AcquiredInRun; n != 160 {
			t.Errorf("%d acquisitions, want 16 clients × 10", n)
		}
	})
	t.Run("iterations do not wait for a fault", func(t *testing.T) {
		out := runOn(
			t,
			stage,
			with("duration:", "iterations: 10", "warmup: 0s", "faults:\n  - {kind: pause, target: c1, at: 1h, for: 2s}"),
		)
		wantVerdict(t, out, evidence.Unknown) // what it set out to do never happened
		if out.Result.Partial {
			t.Error("partial, though it came to its end")
		}
	})
	t.Run("directory in use", func(t *testing.T) {
		dir := t.TempDir()
		file := filepath.Join(dir, "mine")
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := stage.Run(t.Context(), load(t, small), dir); !errors.Is(err, rundir.ErrDirInUse) {
			t.Errorf("got %v", err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("directory holds %v (%v)", entries, err)
		}
	})
}

// interrupted interrupts a run while its faults are in force. A stopped client then resumes, a host that was cut off
// is connected again, and the history says so.
func interrupted(t *testing.T, stage *Stage) {
	dir := filepath.Join(t.ArtifactDir(), "run")
	sc := load(t, with("duration: 60s", `faults:
  - {kind: pause, target: c1, at: 100ms, for: 30s}
  - {kind: partition, target: c2, from: servers, at: 100ms, for: 30s}
  - {kind: kill, target: follower, at: 100ms, for: 30s}`))
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	done := make(chan error, 1)
	go func() { done <- stage.Run(ctx, sc, dir) }()
	showLogs(t, dir)
	w := newFollower(dir)
	defer w.Close()
	for _, f := range []string{"f1", "f2", "f3"} {
		w.await(t, done, "fault "+f+" to be verified", func(e history.Event) bool {
			return e.Op == history.OpFaultVerify && e.Kind == history.OK && e.Fault == f
		})
	}
	if r := readResult(t, dir); !r.Partial || r.Verdict != evidence.Unknown {
		t.Errorf("result of a run that goes on: partial %v, verdict %s", r.Partial, r.Verdict)
	}
	begun := time.Now()
	interrupt(ErrInterrupted)
	if err := <-done; !errors.Is(err, ErrInterrupted) {
		t.Errorf("got %v", err)
	}
	t.Logf("ended %v after the interrupt", time.Since(begun))
	out, err := judge.Conclude(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !out.Interrupted || !out.Result.Partial || out.Result.Verdict == evidence.Pass {
		t.Errorf("interrupted %v, partial %v, verdict %s", out.Interrupted, out.Result.Partial, out.Result.Verdict)
		explain(t, out)
	}
	// That a killed server is back may take longer than an interrupted run waits.
	healed := map[string]bool{}
	for _, e := range readHistory(t, dir) {
		if e.Kind == history.OK && (e.Op == history.OpFaultHeal || e.Op == history.OpFaultHealVerify && e.Fault == "f1") {
			healed[string(e.Op)+" "+e.Fault] = true
		}
	}
	if len(healed) != 4 {
		t.Errorf("healed: %v, want f1, f2 and f3, and f1 seen to be", healed)
	}
	for _, h := range stage.lab.Hosts(0, 1, 2) {
		st, err := h.Agent.Status(t.Context())
		if err != nil || st.State == history.ProcessStopped || len(st.Rules) > 0 {
			t.Errorf("%s: %+v, %v", h.Name, st, err)
		}
	}
	wantReproducible(t, out)
	mutilate(t, dir)
}

// readHistory reads a run's history.jsonl.
func readHistory(t *testing.T, dir string) []history.Event {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, rundir.HistoryFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var events []history.Event
	for lines := json.NewDecoder(f); ; {
		var e history.Event
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			return events
		} else if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
}

func readResult(t *testing.T, dir string) result.Result {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, rundir.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	var r result.Result
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatalf("result.json: %v", err)
	}
	return r
}

// wantComplete checks that a run directory has all its files.
func wantComplete(t *testing.T, dir string, processes int) {
	t.Helper()
	want := []string{
		rundir.ResultFile,
		rundir.ScenarioFile,
		rundir.EnvFile,
		rundir.HistoryFile,
		rundir.VerdictsFile,
		rundir.HlogFile,
		rundir.BenchFile,
		rundir.ReportFile,
		"plots/timeline.svg",
		"hosts/harness/000000.hist",
		"hosts/r1/process.hist",
		"hosts/r1/agent.hist",
		"hosts/r1/process.log",
	}
	for _, c := range []string{"c1", "c2"}[:processes] {
		want = append(want, "hosts/"+c+"/process.hist", "hosts/"+c+"/agent.hist", "hosts/"+c+"/process.log")
	}
	for _, zk := range []string{"zk1", "zk2", "zk3"} {
		want = append(
			want,
			"hosts/"+zk+"/agent.hist",
			"hosts/"+zk+"/process.log",
			"hosts/"+zk+"/mntr-start.txt",
			"hosts/"+zk+"/mntr-end.txt",
		)
	}
	for _, name := range want {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
		} else if st.Size() == 0 && !strings.HasSuffix(name, "agent.hist") && !strings.HasSuffix(name, ".log") {
			t.Errorf("%s is empty", name)
		}
	}
	if leftovers, _ := filepath.Glob(filepath.Join(dir, ".tmp-*")); len(leftovers) > 0 {
		t.Errorf("left behind: %v", leftovers)
	}
	env, err := rundir.ReadEnv(dir)
	if err != nil || env.ZooKeeper == "" || env.Image == "" || env.Lab != labtest.Kind() || env.EnsembleReadyNs <= 0 ||
		env.SessionTimeoutNs != int64(4*time.Second) {
		t.Errorf("env.json: %+v, %v", env, err)
	}
}

// wantReproducible draws a run, and judges and draws it a second time. Every derived file is the same, and no raw file
// changes.
func wantReproducible(t *testing.T, out judge.Outcome) {
	t.Helper()
	if _, err := judge.Report(out.Dir); err != nil {
		t.Fatal(err)
	}
	before := files(t, out.Dir)
	second, err := judge.Check(out.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if second.Result.Verdict != out.Result.Verdict || second.Interrupted != out.Interrupted {
		t.Errorf("judged again: %s, was %s", second.Result.Verdict, out.Result.Verdict)
	}
	if _, err := judge.Report(out.Dir); err != nil {
		t.Fatal(err)
	}
	after := files(t, out.Dir)
	for name, b := range before {
		if !bytes.Equal(b, after[name]) {
			t.Errorf("%s came out differently", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
}

// files reads all files of a run directory.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[name], err = os.ReadFile(filepath.Join(dir, name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// derived reports whether a file is one of those that check and report make.
func derived(name string) bool {
	return slices.Contains(
		[]string{rundir.ResultFile, rundir.VerdictsFile, rundir.HistoryFile, rundir.HlogFile, rundir.ReportFile},
		name,
	) ||
		strings.HasPrefix(name, "plots/")
}
