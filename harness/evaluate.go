package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"locklab/ensembles"
	"locklab/harness/check"
	"locklab/harness/history"
	"locklab/harness/scenario"
	"locklab/reports"
	"locklab/workloads"
)

// An Outcome is what a run came to.
type Outcome struct {
	Dir    string
	Result reports.Result
	Report check.Report
	// Interrupted says that the run was ended early on purpose.
	Interrupted bool

	_ struct{}
}

// Check judges the run in dir again, from its raw files alone, and replaces its
// history.jsonl, verdicts.json, result.json, latency.hlog and bench.txt.
func Check(dir string) (Outcome, error) {
	in, err := evaluate(dir)
	if err != nil {
		return Outcome{}, fmt.Errorf("check %s: %w", dir, err)
	}
	return outcome(dir, in), judge(dir, in)
}

// Report draws the run in dir again, from its raw files alone, and replaces its
// report.html and plots.
func Report(dir string) (Outcome, error) {
	in, err := evaluate(dir)
	if err != nil {
		return Outcome{}, fmt.Errorf("report %s: %w", dir, err)
	}
	return outcome(dir, in), reports.Render(dir, in)
}

// Conclude is Check and Report in one, as at the end of a run.
func Conclude(dir string) (Outcome, error) {
	in, err := evaluate(dir)
	if err != nil {
		return Outcome{}, fmt.Errorf("conclude %s: %w", dir, err)
	}
	return outcome(dir, in), errors.Join(judge(dir, in), reports.Render(dir, in))
}

// judge writes the derived files that are not drawn, the result last.
func judge(dir string, in reports.Input) error {
	return errors.Join(
		replaceFile(filepath.Join(dir, historyFile), func(f *os.File) error { return history.WriteJSONL(f, in.Events) }),
		writeJSON(filepath.Join(dir, verdictsFile), in.Report),
		replaceFile(filepath.Join(dir, hlogFile), func(f *os.File) error { return reports.WriteHlog(f, in.Events, in.Acquisitions) }),
		replaceFile(filepath.Join(dir, benchFile), func(f *os.File) error { return reports.WriteBench(f, in.Result) }),
		writeJSON(filepath.Join(dir, resultFile), in.Result))
}

func outcome(dir string, in reports.Input) Outcome {
	return Outcome{Dir: dir, Result: in.Result, Report: in.Report, Interrupted: in.Meta.Interrupted}
}

// evaluate reads a run directory and judges it.
func evaluate(dir string) (reports.Input, error) {
	var in reports.Input
	if err := openDir(dir); err != nil {
		return in, err
	}
	src, err := os.ReadFile(filepath.Join(dir, scenarioFile))
	if err != nil {
		return in, err
	}
	sc, err := scenario.Load(scenarioFile, src)
	if err != nil {
		return in, err
	}
	// A harness that was killed as it began leaves less than this; that makes the
	// run partial, not unreadable.
	env, err := readEnv(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return in, err
	}
	var torn []string
	in.Events, torn, err = history.ReadRaw(filepath.Join(dir, hostsDir))
	if err != nil && !errors.Is(err, history.ErrNoBeginning) && !errors.Is(err, fs.ErrNotExist) {
		return in, err
	}
	in.Acquisitions = history.Acquisitions(in.Events)
	in.Meta = metaOf(dir, sc, env)
	ending := slices.IndexFunc(in.Events, func(e history.Event) bool { return e.Op == history.OpEnd })
	in.Meta.Partial = ending < 0 || in.Events[ending].Detail != history.EndComplete
	in.Meta.Interrupted = ending >= 0 && in.Events[ending].Detail == history.EndInterrupt
	in.Meta.Warnings = append(in.Meta.Warnings, torn...)
	plan, err := readTimeline(dir, sc)
	if err != nil {
		return in, err
	}
	facts := factsOf(sc, plan, in.Meta.Partial, torn, in)
	facts.Servers = readServerLog(dir, sc, in.Events)
	in.Report = check.Run(in.Events, facts)
	in.Result = reports.Summarize(in.Events, in.Acquisitions, in.Report, in.Meta)
	return in, nil
}

func factsOf(sc *scenario.Scenario, plan scenario.Plan, partial bool, torn []string, in reports.Input) check.Facts {
	recipe := sc.Mix()
	if recipe.MayToken {
		recipe.Tokens = slices.ContainsFunc(in.Acquisitions, func(a history.Acquisition) bool { return a.Token != 0 })
		if sc.Guard == scenario.GuardFencing && !recipe.Tokens {
			torn = append(slices.Clone(torn), "guard fencing had nothing to go by: the lock's command gave no tokens")
		}
	}
	f := check.Facts{Tokens: recipe.Tokens, Queue: recipe.Queue, Exclusive: recipe.Exclusive, Guard: sc.Guard,
		SessionTimeout: sc.Negotiated(), Tick: sc.Tick, Expect: map[string]check.Expectation{}, AtLeast: sc.Shown,
		MinAcquired: sc.MinAcquired, Faults: planned(plan), Progress: demandsProgress(sc, plan), Recovers: len(plan.Steps) > 0 && sc.LivenessPhase() > 0, Partial: partial, Incomplete: torn}
	for i := range in.Events {
		if e := &in.Events[i]; e.Op == history.OpFinal {
			if f.FinalValues == nil {
				f.FinalValues, f.FinalVersions = map[string]int64{}, map[string]int64{}
			}
			f.FinalValues[e.Lock], f.FinalVersions[e.Lock] = e.Value, e.Token
		}
	}
	if f.Lists = sc.Section == scenario.SectionAppend; f.Lists && f.FinalValues != nil {
		f.FinalLists = finalLists(in.Events, f.FinalValues)
	}
	if sc.Workload == scenario.WorkloadSemaphore {
		f.Permits = max(sc.Permits, sc.Resize.To) // a hold outlives a smaller number
	}
	for _, name := range []string{check.ServiceExclusion, check.BeliefExclusion, check.Effect, check.Tokens, check.Fairness, check.Liveness} {
		f.Expect[name] = check.Expectation(sc.Expected(name))
	}
	return f
}

// demandsProgress reports whether each client is to get a lock after the last heal: clients work on then, and ask
// again and again, for as long as it takes.
func demandsProgress(sc *scenario.Scenario, plan scenario.Plan) bool {
	return len(plan.Steps) > 0 && sc.LivenessPhase() > 0 && !sc.Open() && !sc.Try && sc.Wait == 0
}

// finalLists are the lists of which all elements are known, of those that had as many in the end.
func finalLists(events []history.Event, had map[string]int64) map[string][]int64 {
	lists := map[string][]int64{}
	for i := range events {
		if e := &events[i]; e.Op == history.OpElement {
			lists[e.Lock] = append(lists[e.Lock], e.Value)
		}
	}
	for lock, n := range had {
		switch {
		case n == 0:
			lists[lock] = []int64{}
		case int64(len(lists[lock])) != n:
			delete(lists, lock)
		}
	}
	return lists
}

func metaOf(dir string, sc *scenario.Scenario, env Env) reports.Meta {
	return reports.Meta{Scenario: sc.Name, About: sc.About, Lab: env.Lab, Workload: sc.Workload, Recipe: sc.Recipe, Guard: sc.Guard, Seed: sc.Seed,
		Clients: sc.Clients, Processes: sc.ClientProcesses, Locks: sc.Locks, Permits: permitsOf(sc), SessionTimeout: sc.Negotiated(), Tick: sc.Tick,
		Hold: fixed(sc.Hold), Think: fixed(sc.Think), Load: loadOf(sc), Storage: sc.Storage, ZooKeeper: env.ZooKeeper, Servers: sc.Servers,
		ServerStart: readMetrics(dir, metricsStart), ServerEnd: readMetrics(dir, metricsEnd),
		Drain: sc.Drain, Arrivals: sc.Arrivals, ClosedLoop: !sc.Open(), Thresholds: thresholdsOf(sc), Warnings: sc.Warnings(),
		Environment: map[string]string{
			"image": env.Image, "Java options": strings.Join(env.JavaOptions, " "), "kernel": env.Kernel, "CPUs": strconv.Itoa(env.CPUs), "memory": fmt.Sprintf("%d MiB", env.MemoryKiB>>10),
			"Go": env.Go, "locklab": env.Locklab, "started": time.Unix(0, env.StartedUnixNs).UTC().Format(time.RFC3339),
			"ensemble ready after": time.Duration(env.EnsembleReadyNs).Round(time.Millisecond).String(),
		}}
}

// permitsOf is the number of permits of each lock, if that stays.
func permitsOf(sc *scenario.Scenario) int {
	if sc.Workload != scenario.WorkloadSemaphore || sc.Resize.Every != 0 {
		return 0
	}
	return sc.Permits
}

// fixed is what a constant always is; 0 if it is none.
func fixed(d workloads.Distribution) time.Duration {
	length, ok := d.Fixed()
	if !ok {
		return 0
	}
	return length
}

// loadOf is what the scenario says of the load that is not one number, or not always there.
func loadOf(sc *scenario.Scenario) [][2]string {
	var load [][2]string
	add := func(is bool, name, key string) {
		if is {
			load = append(load, [2]string{name, sc.Text(key)})
		}
	}
	for _, d := range []struct {
		key, name string
		of        workloads.Distribution
	}{{"hold", "planned hold", sc.Hold}, {"think", "planned pause between acquisitions", sc.Think}} {
		_, isFixed := d.of.Fixed()
		add(!isFixed, d.name, d.key)
	}
	add(sc.LockChoice != workloads.Choice{}, "choice of locks", "lock-choice")
	add(true, "arrivals", "arrivals")
	add(sc.Open(), "rate, a second", "rate")
	add(sc.MaxInFlight > 0, "acquisitions in flight, at most", "max-in-flight")
	return load
}

// readMetrics reads the servers' counters of a snapshot; nil if there is none.
func readMetrics(dir, file string) map[string]map[string]float64 {
	names, err := fs.Glob(os.DirFS(dir), filepath.Join(hostsDir, "*", file))
	if err != nil || len(names) == 0 {
		return nil
	}
	all := map[string]map[string]float64{}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		all[filepath.Base(filepath.Dir(name))] = ensembles.ParseMetrics(string(b))
	}
	return all
}

// writePartial writes the result of a run that has only begun. It stays if
// nothing better ever replaces it.
func writePartial(dir string, sc *scenario.Scenario) error {
	r := reports.Summarize(nil, nil, check.Report{Verdict: check.Unknown}, reports.Meta{Scenario: sc.Name, Workload: sc.Workload, Recipe: sc.Recipe, Guard: sc.Guard,
		Seed: sc.Seed, Partial: true, Thresholds: thresholdsOf(sc), Warnings: []string{"the run has not ended, or its harness was killed; locklab check reads what there is"}})
	return writeJSON(filepath.Join(dir, resultFile), r)
}
