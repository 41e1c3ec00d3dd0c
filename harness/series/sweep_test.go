package series

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/capacity"
	"locklab/reports/measure"
	"locklab/reports/result"
	"locklab/reports/sweep"
	"locklab/workloads"
)

// sweepPlan plans a sweep of the built-in mutex.
func sweepPlan(t *testing.T, cfg SweepConfig, params ...string) (*SweepPlan, error) {
	t.Helper()
	if cfg.Base == nil {
		sc, err := scenario.Builtin(workloads.Builtin, "mutex")
		if err != nil {
			t.Fatal(err)
		}
		sc.Seed = 42
		cfg.Base = sc
	}
	for _, text := range params {
		p, err := ParseParam(text)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Params = append(cfg.Params, p)
	}
	return PlanSweep(cfg)
}

func mustPlan(t *testing.T, cfg SweepConfig, params ...string) *SweepPlan {
	t.Helper()
	p, err := sweepPlan(t, cfg, params...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func names(p *SweepPlan) []string {
	var all []string
	for _, point := range p.Points {
		all = append(all, point.Name)
	}
	return all
}

func TestSweepGrid(t *testing.T) {
	for _, c := range []struct {
		name   string
		params []string
		want   []string
	}{
		{"every combination", []string{"clients=1,8", "recipe=mutex,naive-mutex"},
			[]string{"clients=1,recipe=mutex", "clients=1,recipe=naive-mutex",
				"clients=8,recipe=mutex", "clients=8,recipe=naive-mutex"}},
		{"a key that a workload does not have makes no points of it",
			[]string{"read-share=0.5,0.9", "workload=mutex,read-write"},
			[]string{"workload=mutex", "read-share=0.5,workload=read-write", "read-share=0.9,workload=read-write"}},
		{"all kinds of keys", []string{"servers=1,3", "storage=tmpfs", "session-timeout=1s..2s", "hold=exponential(1ms)"},
			[]string{"servers=1,storage=tmpfs,session-timeout=1s,hold=exponential(1ms)",
				"servers=1,storage=tmpfs,session-timeout=2s,hold=exponential(1ms)",
				"servers=3,storage=tmpfs,session-timeout=1s,hold=exponential(1ms)",
				"servers=3,storage=tmpfs,session-timeout=2s,hold=exponential(1ms)"}},
		{"no file has a slash in its name", []string{"recipe=exec:/bin/x"}, []string{"recipe=exec__bin_x"}},
	} {
		if diff := cmp.Diff(c.want, names(mustPlan(t, SweepConfig{}, c.params...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	// The recipe and the defaults of its keys follow the workload, and a process may have a single client.
	p := mustPlan(t, SweepConfig{}, "clients=1,64", "workload=semaphore,read-write")
	for i, want := range []string{"recipe: semaphore", "recipe: rw", "recipe: semaphore", "recipe: rw"} {
		sc, err := p.Run(i, 1)
		if err != nil || !strings.Contains(p.Points[i].Source, want+"\n") || sc.ClientProcesses != min(sc.Clients, 2) ||
			result.Validate(sc) != nil {
			t.Errorf("point %d: %v\n%s", i, err, p.Points[i].Source)
		}
	}
}

// Each point of a sweep over round trips goes through relays, the one of 0 too, so that they can be compared.
func TestSweepOverRoundTrips(t *testing.T) {
	p := mustPlan(t, SweepConfig{}, "round-trip=0,2ms,50ms")
	for i, want := range []time.Duration{0, 2 * time.Millisecond, 50 * time.Millisecond} {
		sc, err := p.Run(i, 1)
		if err != nil || sc.RoundTrip != (scenario.RoundTrip{Relayed: true, Added: want}) {
			t.Errorf("%s: %+v, %v", p.Points[i].Name, sc.RoundTrip, err)
		}
	}
}

// A value has the same place on the axis in every form in which it can be written.
func TestSweepValuesAreCanonical(t *testing.T) {
	plan := mustPlan(t, SweepConfig{}, "session-timeout=4000ms,8s", "clients=02,4")
	var got [][]string
	for _, p := range plan.Params {
		got = append(got, p.Values)
	}
	if diff := cmp.Diff([][]string{{"4s", "8s"}, {"2", "4"}}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, key := range []string{"session-timeout=4000ms,8s", "clients=02,4"} {
		dir := t.TempDir()
		plan := mustPlan(t, SweepConfig{}, key)
		var f fakeRun
		f.complete(t, plan, dir)
		s, err := ReadSweep(dir)
		if err != nil || len(s.Series) != 1 || len(s.Series[0].Points) != 2 || s.Series[0].Points[0].Load == 0 ||
			s.Series[0].Points[1].Load != 2*s.Series[0].Points[0].Load {
			t.Errorf("%s: %v, %+v", key, err, s.Series)
		}
	}
}

// The whole grid is checked before anything starts, and the error names the parameter and the point.
func TestSweepGridIsRefused(t *testing.T) {
	for _, c := range []struct {
		params []string
		says   string
	}{
		{[]string{"clients=0,1"}, "--param clients=0: clients of 0 is out of range"},
		{[]string{"client=1"}, "--param client=1: no such key (did you mean clients?)"},
		{[]string{"clients=1,2", "clients=3"}, "--param: clients is given twice"},
		{[]string{"seed=1,2"}, "--param: seed cannot be varied"},
		{[]string{"name=a,b"}, "--param name=a: no such key"},
		{[]string{"clients=2,8", "guard=none,fencing", "recipe=mutex,none"},
			"--param: at the point clients=8 guard=fencing recipe=none: "},
		{[]string{"client-processes=2,4", "clients=2"}, "at the point client-processes=4 clients=2: "},
		{[]string{"clients=1..1000+1", "locks=1..1000+1"}, "more than 10000 points"},
		{[]string{"storage=disc"}, "did you mean disk?"},
		{[]string{"hold=1ms,1000us"}, "--param hold=1ms,1000us: 1ms is given twice, once as 1000us"},
		{[]string{"clients=1..4,2"}, "--param clients=1,2,4,2: 2 is given twice"},
		{[]string{"clients=1..4,04"}, "4 is given twice, once as 04"},
	} {
		p, err := sweepPlan(t, SweepConfig{}, c.params...)
		_, isInput := errors.AsType[*scenario.InputError](err)
		if err == nil || !isInput || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, %v; want %q", c.params, p, err, c.says)
		}
	}
	if _, err := sweepPlan(t, SweepConfig{Saturate: []string{"acquire.p99 < 20ms"}}, "rate=1,2"); err == nil ||
		!strings.Contains(err.Error(), "--saturate looks for") {
		t.Errorf("a rate to search and to vary: %v", err)
	}
	for limit, says := range map[string]string{"acquire.p98 < 20ms": "acquire.p9", "fast": "is not a threshold",
		"acquired_per_s > 400": "does not become false", "acquire.p99 != 20ms": "does not become false",
		"acquire.p99 >= 20ms": "does not become false", "dropped == 3": "does not become false",
		"acquire.p99 < 20ms,acquired_per_s >= 1": "does not become false"} {
		_, err := sweepPlan(t, SweepConfig{Saturate: strings.Split(limit, ",")})
		if err == nil || !strings.Contains(err.Error(), says) ||
			!strings.HasPrefix(err.Error(), "--saturate: ") {
			t.Errorf("%s: %v", limit, err)
		}
	}
	for _, limit := range []string{"acquire.p99 <= 20ms", "dropped == 0", "fairness.jain > 0.9"} {
		if _, err := sweepPlan(t, SweepConfig{Saturate: strings.Split(limit, ",")}); err != nil {
			t.Errorf("%s: %v", limit, err)
		}
	}
}

// The order follows from the seed, keeps runs together that can share a lab, and has every run once.
func TestSweepOrder(t *testing.T) {
	params := []string{"clients=1..64", "storage=disk,tmpfs", "recipe=mutex,naive-mutex"}
	p := mustPlan(t, SweepConfig{Repeat: 3}, params...)
	if again := mustPlan(t, SweepConfig{Repeat: 3}, params...); !cmp.Equal(p, again) {
		t.Error("the same sweep has another plan")
	}
	other, err := scenario.Builtin(workloads.Builtin, "mutex")
	if err != nil {
		t.Fatal(err)
	}
	other.Seed = 43
	if q := mustPlan(t, SweepConfig{Base: other, Repeat: 3}, params...); cmp.Equal(p.Order, q.Order) {
		t.Error("another seed has the same order")
	}
	count := map[PlannedRun]int{}
	labs, last := 0, ""
	seeds := map[uint64]bool{}
	for _, r := range p.Order {
		count[r]++
		sc, err := p.Run(r.Point, r.Repeat)
		if err != nil {
			t.Fatal(err)
		}
		seeds[sc.Seed] = true
		if lab := run.LabSettings(sc, nil); lab != last {
			labs, last = labs+1, lab
		}
	}
	if len(count) != 7*2*2*3 || len(p.Order) != len(count) || len(seeds) != len(count) {
		t.Errorf("%d runs, %d different, %d seeds", len(p.Order), len(count), len(seeds))
	}
	if labs != 2 {
		t.Errorf("%d labs for two kinds of storage", labs)
	}
	if slices.IsSortedFunc(p.Order[:28], func(a, b PlannedRun) int { return a.Point - b.Point }) {
		t.Error("the order is that of the grid")
	}
}

// A fakeRun stands in for a run. It leaves a directory as a run does.
type fakeRun struct {
	ran []string // directories, in order
	// stop, if not nil, reports before each run whether to interrupt it half-way.
	stop   func() bool
	cancel context.CancelCauseFunc
	result func(sc *scenario.Scenario) result.Result
}

func (f *fakeRun) Run(_ context.Context, job Job) (judge.Outcome, error) {
	sc, dir := job.Scenario, job.Dir
	if err := rundir.CreateDir(dir, sc, sc.Plan(nil), result.Begun(sc)); err != nil {
		return judge.Outcome{}, err
	}
	f.ran = append(f.ran, filepath.Base(filepath.Dir(dir))+" "+filepath.Base(dir))
	if f.stop != nil && f.stop() {
		f.cancel(run.ErrInterrupted)
		return judge.Outcome{Dir: dir, Interrupted: true}, run.ErrInterrupted
	}
	r := result.Result{SchemaVersion: 1, Scenario: sc.Name, Seed: sc.Seed, Verdict: evidence.Pass}
	if f.result != nil {
		r = f.result(sc)
	}
	return judge.Outcome{Dir: dir, Result: r}, rundir.WriteJSON(filepath.Join(dir, rundir.ResultFile), r)
}

// plans returns the scenario, with its seed, of each run directory.
func plans(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pointsDir, "*", "*", rundir.ScenarioFile))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[relative(dir, name)] = string(b)
	}
	return all
}

// complete carries out a sweep, resumes it as often as it is interrupted, and returns the completed runs in order.
func (f *fakeRun) complete(t *testing.T, plan *SweepPlan, dir string) []string {
	t.Helper()
	var ended []string
	for range 200 {
		if err := plan.Begin(dir); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		f.cancel, f.ran = cancel, nil
		s := Sweep{Dir: dir, Plan: plan, Run: f.Run}
		err := s.Execute(ctx)
		cancel(nil)
		if err == nil {
			return append(ended, f.ran...)
		}
		if !errors.Is(err, run.ErrInterrupted) {
			t.Fatal(err)
		}
		ended = append(ended, f.ran[:len(f.ran)-1]...)
	}
	t.Fatal("it never ends")
	return nil
}

// A sweep that is interrupted anywhere and resumed has the grid, the seeds and the order of one that is not
// interrupted.
func TestSweepIsResumed(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many runs")
	}
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 0))
		params := []string{"clients=1..8", "storage=disk,tmpfs"}
		whole := t.TempDir()
		var f fakeRun
		want := f.complete(t, mustPlan(t, SweepConfig{Repeat: 2}, params...), whole)
		broken := t.TempDir()
		g := fakeRun{stop: func() bool { return rng.Float64() < 0.3 }}
		got := g.complete(t, mustPlan(t, SweepConfig{Repeat: 2}, params...), broken)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d: another order (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(plans(t, whole), plans(t, broken)); diff != "" || len(want) != 16 {
			t.Fatalf("seed %d: other runs (-want +got):\n%s", seed, diff)
		}
		for _, name := range []string{planFile} {
			a, errA := os.ReadFile(filepath.Join(whole, name))
			b, errB := os.ReadFile(filepath.Join(broken, name))
			if errA != nil || errB != nil || string(a) != string(b) {
				t.Fatalf("seed %d: %s differs", seed, name)
			}
		}
	}
}

// capacityOf returns the result of a run of a lock with a known capacity at the scenario's rate.
func capacityOf(most float64) func(sc *scenario.Scenario) result.Result {
	return func(sc *scenario.Scenario) result.Result {
		rate := sc.Rate.Rates[0]
		done, dropped := min(rate, most), int64(0)
		r := result.Result{
			SchemaVersion: 1,
			Seed:          sc.Seed,
			Verdict:       evidence.Pass,
			Throughput:    result.Throughput{OfferedPerS: &rate, AcquiredPerS: &done, Dropped: &dropped},
		}
		for range sc.Faults {
			r.Faults = append(r.Faults, effect.FaultRecord{Verified: true})
		}
		line := result.ThresholdLine{Expr: sc.Thresholds[0].String(), Verdict: evidence.Pass}
		if rate > most {
			line.Verdict, line.Reason = evidence.Fail, "it came to more"
			r.Verdict = evidence.Fail
		}
		r.Thresholds = []result.ThresholdLine{line}
		return r
	}
}

// A search is resumed too, and the probes that were made count.
func TestSweepSearches(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates many searches")
	}
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 1))
		f := fakeRun{result: capacityOf(321)}
		whole, broken := t.TempDir(), t.TempDir()
		cfg := SweepConfig{Saturate: []string{"acquire.p99 < 20ms"}}
		want := f.complete(t, mustPlan(t, cfg, "recipe=mutex,naive-mutex"), whole)
		g := fakeRun{result: capacityOf(321), stop: func() bool { return rng.Float64() < 0.3 }}
		got := g.complete(t, mustPlan(t, cfg, "recipe=mutex,naive-mutex"), broken)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(plans(t, whole), plans(t, broken)); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
		s, err := ReportSweep(broken)
		if err != nil {
			t.Fatal(err)
		}
		if s.Partial || len(s.Series) != 1 || len(s.Series[0].Points) != 2 {
			t.Fatalf("%+v", s)
		}
		for _, p := range s.Series[0].Points {
			if l := p.Limit; l == nil || l.Unknown != "" || *l.Lower > 321 || *l.Lower < 321*0.95 || *l.Upper <= 321 ||
				l.Why != "threshold" || l.Recovered == nil || !*l.Recovered || l.Away == nil || *l.Away.Lower != *l.Lower {
				t.Errorf("%v: %+v", p.Values, l)
			}
		}
		if violation, unknown, missed := SweepVerdict(s); violation || unknown || missed {
			t.Errorf("a search that came to its end: %t %t %t", violation, unknown, missed)
		}
	}
}

// A directory with other files is refused, and so is a run in it that does not belong to the plan.
func TestSweepDirectory(t *testing.T) {
	dir := t.TempDir()
	plan := mustPlan(t, SweepConfig{}, "clients=1..4")
	if err := plan.Begin(dir); err != nil {
		t.Fatal(err)
	}
	if err := plan.Begin(dir); err != nil {
		t.Errorf("the same again: %v", err)
	}
	if err := mustPlan(t, SweepConfig{}, "clients=1..8").Begin(dir); !errors.Is(err, rundir.ErrDirInUse) ||
		!strings.Contains(err.Error(), "--resume") {
		t.Errorf("another sweep: %v", err)
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "notes.txt"), []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := plan.Begin(foreign); !errors.Is(err, rundir.ErrDirInUse) {
		t.Errorf("a directory with other files: %v", err)
	}
	for name, text := range map[string]string{"not JSON": "{", "of the future": `{"schema_version":9}`,
		"a run of a missing point": `{"schema_version":1,"order":[{"point":3}]}`,
		"a point outside":          `{"schema_version":1,"points":[{"name":"../x"}]}`} {
		bad := t.TempDir()
		if err := os.WriteFile(filepath.Join(bad, planFile), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSweepPlan(bad); !errors.Is(err, ErrNoSweep) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A run of another scenario is not counted as one of the sweep, and not removed.
	r := plan.Order[0]
	other, err := plan.Run((r.Point+1)%len(plan.Points), 1)
	if err != nil {
		t.Fatal(err)
	}
	var f fakeRun
	if err := os.MkdirAll(filepath.Dir(plan.runDir(dir, r.Point, 1)), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Run(t.Context(), Job{Scenario: other, Dir: plan.runDir(dir, r.Point, 1)}); err != nil {
		t.Fatal(err)
	}
	if err := (&Sweep{Dir: dir, Plan: plan, Run: f.Run}).Execute(t.Context()); !errors.Is(err, rundir.ErrDirInUse) {
		t.Errorf("a run of another scenario in its place: %v", err)
	}
}

// A run that breaks off is left out and repeated later. Several in a row that break off end the sweep.
func TestSweepGoesOnAfterABrokenRun(t *testing.T) {
	dir := t.TempDir()
	plan := mustPlan(t, SweepConfig{}, "clients=1..64")
	if err := plan.Begin(dir); err != nil {
		t.Fatal(err)
	}
	broke := errors.New("the lab broke")
	var f fakeRun
	n, bad := 0, func(n int) bool { return n == 3 }
	var said []string
	s := Sweep{Dir: dir, Plan: plan, Progress: func(p SweepProgress) { said = append(said, p.String()) },
		Run: func(ctx context.Context, job Job) (judge.Outcome, error) {
			sc, at := job.Scenario, job.Dir
			if n++; bad(n) {
				return judge.Outcome{
						Dir:    at,
						Result: result.Result{Partial: true},
					}, errors.Join(
						rundir.CreateDir(at, sc, sc.Plan(nil), result.Begun(sc)),
						broke,
					)
			}
			return f.Run(ctx, job)
		}}
	if err := s.Execute(t.Context()); err != nil || len(f.ran) != 6 {
		t.Errorf("%v, %d runs", err, len(f.ran))
	}
	if all := strings.Join(said, "\n"); !strings.Contains(all, "the lab broke") || !strings.Contains(all, "[6 of 7, ") {
		t.Errorf("it said:\n%s", all)
	}
	sum, err := ReportSweep(dir)
	if err != nil || !sum.Partial || sum.Done != 6 || sum.Planned != 7 {
		t.Errorf("%v: %d of %d, partial %t", err, sum.Done, sum.Planned, sum.Partial)
	}
	if again := (Sweep{Dir: dir, Plan: plan, Run: f.Run}); again.Execute(t.Context()) != nil || len(f.ran) != 7 {
		t.Errorf("%d runs after it was taken up again", len(f.ran))
	}
	fresh := t.TempDir()
	s.Dir, s.done, s.broken, bad = fresh, 0, 0, func(int) bool { return true }
	if err := errors.Join(plan.Begin(fresh), s.Execute(t.Context())); !errors.Is(err, broke) {
		t.Errorf("all break: %v", err)
	}
}

// trialAt judges a window at 100 arrivals a second.
func trialAt(t *testing.T, kind capacity.Kind, r *result.Result) capacity.Trial {
	t.Helper()
	p := mustPlan(t, SweepConfig{Saturate: []string{"acquire.p99 < 20ms"}})
	ask := capacity.Ask{Level: 100, Kind: kind}
	sc, err := p.runScenario(0, 1, &ask)
	if err != nil {
		t.Fatal(err)
	}
	return p.trialOf(ask, sc, r)
}

// A window reports the first failure, and unknown only if nothing failed.
func TestTrial(t *testing.T) {
	probed := func(offered, acquired float64, dropped int64, threshold, outcome evidence.Result) result.Result {
		return result.Result{
			Throughput: result.Throughput{OfferedPerS: &offered, AcquiredPerS: &acquired, Dropped: &dropped},
			Thresholds: []result.ThresholdLine{
				{Expr: "acquire.p99 < 20ms", Verdict: threshold},
			},
			Checks: []result.CheckLine{{Name: "liveness", Outcome: outcome}},
		}
	}
	random := func(r result.Result, seconds int64) result.Result {
		from, to := int64(0), seconds*1e9
		r.Arrivals, r.Window = workloads.Poisson, result.Window{FromNs: &from, ToNs: &to}
		return r
	}
	// hiccups makes a result whose threshold is unknown because the latency is below the p99 of the hiccups.
	hiccups := func(expr string, value, p99 time.Duration) result.Result {
		r, ns := probed(100, 99, 0, evidence.Unknown, evidence.Pass), int64(p99)
		v := float64(value)
		r.Hiccups = &result.Hiccups{P99Ns: &ns}
		_, why := r.Supported("acquire.p99", v)
		r.Thresholds = []result.ThresholdLine{{Expr: expr, Value: &v, Unit: "ns", Verdict: evidence.Unknown, Reason: why}}
		return r
	}
	fewer := hiccups("acquire.p99 < 20ms", 5*time.Millisecond, 9*time.Millisecond)
	fewer.Thresholds[0].Reason = "too few samples for it"
	for _, c := range []struct {
		name string
		result.Result
		want string
	}{
		{"is below the hiccups of the machine, and both are below the limit",
			hiccups("acquire.p99 < 20ms", 5*time.Millisecond, 9*time.Millisecond), ""},
		{"is below the hiccups of the machine, which equal the limit",
			hiccups("acquire.p99 <= 20ms", 5*time.Millisecond, 20*time.Millisecond), ""},
		{"is below the hiccups of the machine, which are not below the limit",
			hiccups("acquire.p99 < 20ms", 5*time.Millisecond, 20*time.Millisecond), "unknown"},
		{"is below the hiccups of the machine, and the threshold is a lower limit",
			hiccups("acquire.p99 > 2ms", 5*time.Millisecond, 9*time.Millisecond), "unknown"},
		{"is below what the machine adds, and unknown besides", fewer, "unknown"},
		{"falls behind by chance", random(probed(100, 90, 0, evidence.Pass, evidence.Pass), 5), ""},
		{"falls behind for long", random(probed(100, 90, 0, evidence.Pass, evidence.Pass), 60), "rate"},
		{"holds", probed(100, 99, 0, evidence.Pass, evidence.Pass), ""},
		{"misses", probed(100, 80, 5, evidence.Fail, evidence.Pass), "threshold"},
		{"drops, and no goal counts that as lost", probed(100, 80, 5, evidence.Pass, evidence.Pass), "threshold"},
		{"falls behind", probed(100, 90, 0, evidence.Pass, evidence.Pass), "rate"},
		{"is unsafe", probed(100, 100, 0, evidence.Pass, evidence.Fail), "violation"},
		{"has too few samples", probed(100, 100, 0, evidence.Unknown, evidence.Pass), "unknown"},
		{"proves nothing", probed(100, 100, 0, evidence.Pass, evidence.Unknown), "unknown"},
		{"was another load", probed(50, 50, 0, evidence.Pass, evidence.Pass), "void"},
		{"never measured", result.Result{}, "unknown"},
		{"broke off", result.Result{Partial: true}, "unknown"},
	} {
		if p := trialAt(t, capacity.Full, &c.Result); string(p.Reason) != c.want || p.Detail == "" && c.want != "" {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

// A goal is kept as long as no more is lost than its ratio: what was dropped is lost, and does not fail it by itself.
func TestLossDecides(t *testing.T) {
	r := result.Result{Throughput: result.Throughput{OfferedPerS: new(100.0), AcquiredPerS: new(100.0),
		Dropped: new(int64(9)), DroppedPerS: new(0.9)},
		Thresholds: []result.ThresholdLine{{Expr: "acquire.p99 < 20ms", Verdict: evidence.Fail}},
		Losses:     []result.Loss{{Expr: "acquire.p99 < 20ms", Goal: 0.01, Due: []int64{500, 500}, Lost: []int64{0, 9}}}}
	if p := trialAt(t, capacity.Full, &r); p.Reason != capacity.Holds || *p.Losses[0] != 0.009 || *p.DroppedPerS != 0.9 {
		t.Errorf("9 of 1000: %+v", p)
	}
	r.Losses[0].Lost[0] = 2
	if p := trialAt(t, capacity.Full, &r); p.Reason != capacity.Missed ||
		!strings.Contains(p.Detail, "1.1 % of 1,000 acquisitions were lost, and 1 % may be") {
		t.Errorf("11 of 1000: %+v", p)
	}
}

// After a disturbance, the goals must be kept again in time, and to the end of the window.
func TestRecovery(t *testing.T) {
	loss := result.Loss{Expr: "acquire.p99 < 20ms", Goal: 0.01, Due: slices.Repeat([]int64{100}, 36),
		Lost: make([]int64, 36)}
	r := result.Result{Faults: []effect.FaultRecord{{Verified: true}},
		Checks: []result.CheckLine{{Name: "liveness", Outcome: evidence.Unknown}}, // a server was away
		Throughput: result.Throughput{OfferedPerS: new(100.0), AcquiredPerS: new(100.0),
			Dropped: new(int64)}, Thresholds: []result.ThresholdLine{{Expr: loss.Expr, Verdict: evidence.Fail}},
		Losses: []result.Loss{loss}}
	for at := 4; at < 9; at++ { // the disturbance is over after 6 s
		loss.Lost[at] = 100
	}
	p := trialAt(t, capacity.Disturbed, &r)
	if p.Reason != capacity.Holds || p.RecoveredNs == nil || *p.RecoveredNs != 3e9 {
		t.Errorf("3 s: %+v", p)
	}
	loss.Lost[30] = 60
	r.Latency.Arrival = &measure.Latency{P99Ns: new(int64(5e6))} // as they may in the disturbance
	if p := trialAt(t, capacity.Full, &r); p.Reason != capacity.Void {
		t.Errorf("a full window with late arrivals: %+v", p)
	}
	if p := trialAt(t, capacity.Disturbed, &r); p.Reason != capacity.Missed || p.RecoveredNs != nil ||
		!strings.Contains(p.Detail, "did not hold again within 20s") {
		t.Errorf("not to the end: %+v", p)
	}
	if r.Faults[0].Verified = false; trialAt(t, capacity.Disturbed, &r).Reason != capacity.Undecided {
		t.Error("a disturbance that did not happen shows nothing")
	}
}

// A window with one server away is judged once its clients have moved, and until the server comes back.
func TestWindowWithOneServerAway(t *testing.T) {
	loss := result.Loss{Expr: "acquire.p99 < 20ms", Goal: 0.01, Due: slices.Repeat([]int64{100}, 32),
		Lost: make([]int64, 32)}
	r := result.Result{Faults: []effect.FaultRecord{{Verified: true}},
		Throughput: result.Throughput{OfferedPerS: new(100.0), AcquiredPerS: new(90.0),
			Dropped: new(int64)}, Thresholds: []result.ThresholdLine{{Expr: loss.Expr, Verdict: evidence.Fail}},
		Losses: []result.Loss{loss}}
	loss.Lost[2], loss.Lost[26] = 100, 100
	if p := trialAt(t, capacity.Away, &r); p.Reason != capacity.Holds {
		t.Errorf("lost at both ends: %+v", p)
	}
	if loss.Lost[24] = 100; trialAt(t, capacity.Away, &r).Reason != capacity.Missed {
		t.Error("what was lost meanwhile does not count")
	}
}

// The windows of a search are valid scenarios whatever it is over, and harm servers only in labs.
func TestWindowsOfSearches(t *testing.T) {
	builtin := func(name string) *scenario.Scenario {
		sc, err := scenario.Builtin(workloads.Builtin, name)
		if err != nil {
			t.Fatal(err)
		}
		return sc
	}
	elsewhere, err := scenario.Load("elsewhere.yaml",
		[]byte("connect: 'zk1:2181,zk2:2181,zk3:2181'\nclients: 64\nduration: 20s\n"))
	if err != nil {
		t.Fatal(err)
	}
	alone := builtin("mutex")
	alone.Servers = 1
	for _, c := range []struct {
		name, over    string
		base          *scenario.Scenario
		fewest        bool
		disturb, away bool
	}{
		{"rate", "", builtin("mutex"), false, true, true},
		{"clients of a closed loop", "clients", builtin("mutex"), false, true, true},
		{"clients for a rate", "clients", builtin("open-loop"), true, true, true},
		{"locks for a rate", "locks", builtin("open-loop"), true, true, true},
		{"one server", "rate", alone, false, true, false},
		{"elsewhere", "rate", elsewhere, false, true, false},
		{"a closed loop elsewhere", "clients", elsewhere, false, false, false},
	} {
		p := mustPlan(t, SweepConfig{Base: c.base, Over: c.over,
			Saturate: []string{"acquire.p99 < 20ms", "acquire.p50 < 5ms"}})
		if s := p.Search; s.Fewest != c.fewest || s.Disturb != c.disturb || s.Away != c.away || s.BudgetS < 200 {
			t.Errorf("%s: %+v", c.name, s)
		}
		for _, kind := range []capacity.Kind{capacity.Short, capacity.Full, capacity.Disturbed, capacity.Away} {
			if kind == capacity.Disturbed && !c.disturb || kind == capacity.Away && !c.away {
				continue
			}
			ask := capacity.Ask{Level: 48, Kind: kind}
			sc, err := p.runScenario(0, 1, &ask)
			if err != nil {
				t.Fatal(err)
			}
			if err := result.Validate(sc); err != nil {
				t.Errorf("%s, %s: %v", c.name, kind, err)
			}
			harms := sc.Connect == "" && (kind == capacity.Disturbed || kind == capacity.Away)
			if harmed := len(sc.Faults) > 0; harmed != harms {
				t.Errorf("%s, %s: faults %v", c.name, kind, sc.Faults)
			}
			if n := len(sc.Rate.Rates); kind == capacity.Disturbed && (n > 1) != (sc.Connect != "") {
				t.Errorf("%s: rates %v", c.name, sc.Rate.Rates)
			}
		}
	}
}

// A rate that is given is the planned one, of a closed loop too: its search begins there, and measures it.
func TestPlannedRate(t *testing.T) {
	for _, arrivals := range []string{"closed", "poisson"} {
		base := scenario.Defaults()
		base.Arrivals, base.Rate.Rates = arrivals, []float64{500}
		p := mustPlan(t, SweepConfig{Base: base, Saturate: []string{"acquire.p99 < 20ms"}})
		if p.PlannedRate != 500 || p.Search.Planned != 500 || p.Search.Start != 500 {
			t.Errorf("%s: %+v", arrivals, p.Search)
		}
	}
}

// A window whose load side was the limit says nothing about a rate that did not hold. A rate that held did.
func TestVoidTrials(t *testing.T) {
	late, bound := int64(11*time.Millisecond), result.ThresholdLine{Expr: "acquire.p99 < 100ms", Verdict: evidence.Fail}
	r := result.Result{Thresholds: []result.ThresholdLine{bound},
		Throughput: result.Throughput{OfferedPerS: new(100.0), AcquiredPerS: new(100.0), Dropped: new(int64)},
		Latency:    result.LatencyByPhase{Arrival: &measure.Latency{P99Ns: &late}}}
	p := trialAt(t, capacity.Full, &r)
	if p.Reason != capacity.Void || !strings.Contains(p.Detail, "arrivals came late by 11 ms") {
		t.Errorf("missed: %+v", p)
	}
	r.Thresholds[0].Verdict = evidence.Pass
	if p := trialAt(t, capacity.Full, &r); p.Reason != capacity.Holds {
		t.Errorf("held: %+v", p)
	}
}

// sweep.json has null, and not NaN, where nothing is known.
func TestSweepJSON(t *testing.T) {
	dir := t.TempDir()
	plan := mustPlan(t, SweepConfig{}, "clients=1..4")
	if err := plan.Begin(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := ReportSweep(dir); err != nil {
		t.Fatalf("of nothing: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, sweepFile))
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		SchemaVersion int  `json:"schema_version"`
		Partial       bool `json:"partial"`
		Series        []struct {
			Points []struct {
				PerS *float64 `json:"acquired_per_s"`
			} `json:"points"`
		} `json:"series"`
	}
	if err := json.Unmarshal(b, &s); err != nil || s.SchemaVersion != sweep.SchemaVersion || !s.Partial ||
		len(s.Series) != 1 || len(s.Series[0].Points) != 3 || s.Series[0].Points[0].PerS != nil {
		t.Errorf("%v\n%s", err, b)
	}
	if _, err := ReportSweep(t.TempDir()); !errors.Is(err, ErrNoSweep) {
		t.Errorf("of an empty directory: %v", err)
	}
}

// breaking returns a run function whose n-th run breaks off after it has seen the result.
func (f *fakeRun) breaking(
	at int,
	resultOf func(sc *scenario.Scenario) result.Result,
) func(context.Context, Job) (judge.Outcome, error) {
	n := 0
	return func(ctx context.Context, job Job) (judge.Outcome, error) {
		if n++; n != at {
			return f.Run(ctx, job)
		}
		sc, dir := job.Scenario, job.Dir
		r := resultOf(sc)
		r.Partial = true
		return judge.Outcome{
				Dir:    dir,
				Result: r,
			}, errors.Join(
				rundir.CreateDir(dir, sc, sc.Plan(nil), result.Begun(sc)),
				rundir.WriteJSON(filepath.Join(dir, rundir.ResultFile), r),
				errors.New("the lab broke"),
			)
	}
}

// A search that went on after a probe which broke off is resumed and reported after that probe too.
func TestSearchIsResumedAfterABrokenProbe(t *testing.T) {
	for _, at := range []int{1, 2, 5} {
		dir := t.TempDir()
		plan := mustPlan(t, SweepConfig{Saturate: []string{"acquire.p99 < 20ms"}}, "recipe=mutex")
		if err := plan.Begin(dir); err != nil {
			t.Fatal(err)
		}
		f := fakeRun{result: capacityOf(321)}
		breaking := f.breaking(at, func(sc *scenario.Scenario) result.Result { return result.Result{Seed: sc.Seed} })
		ctx, cancel := context.WithCancelCause(t.Context())
		f.stop, f.cancel = func() bool { return len(f.ran) == at+2 }, cancel
		if err := (&Sweep{Dir: dir, Plan: plan, Run: breaking}).Execute(ctx); !errors.Is(err, run.ErrInterrupted) {
			t.Fatal(err)
		}
		f.stop = nil
		before := plans(t, dir)
		if err := (&Sweep{Dir: dir, Plan: plan, Run: f.Run}).Execute(t.Context()); err != nil {
			t.Fatalf("the %d. probe broke off: %v", at, err)
		}
		after := plans(t, dir)
		for name := range before {
			if after[name] != before[name] {
				t.Errorf("%s was run again as another probe", name)
			}
		}
		s, err := ReportSweep(dir)
		if err != nil {
			t.Fatal(err)
		}
		if l := s.Series[0].Points[0].Limit; l.Unknown != "" || *l.Lower > 321 || *l.Lower < 321*0.95 ||
			len(l.Trials) != len(after) {
			t.Errorf("%+v of %d runs", l, len(after))
		}
	}
}

// A violation seen by a run that broke off or was interrupted is reported, and kept when the run is repeated.
func TestSweepKeepsAViolation(t *testing.T) {
	unsafe := func(sc *scenario.Scenario) result.Result {
		return result.Result{
			Seed:     sc.Seed,
			Verdict:  evidence.Fail,
			Headline: "two at once",
			Checks:   []result.CheckLine{{Name: "exclusion", Outcome: evidence.Fail, Summary: "two at once"}},
		}
	}
	for _, cfg := range []SweepConfig{{}, {Saturate: []string{"acquire.p99 < 20ms"}}} {
		dir := t.TempDir()
		plan := mustPlan(t, cfg, "recipe=mutex,naive-mutex")
		if err := plan.Begin(dir); err != nil {
			t.Fatal(err)
		}
		var f fakeRun
		if cfg.Saturate != nil {
			f.result = capacityOf(321)
		}
		var said []string
		s := Sweep{
			Dir:      dir,
			Plan:     plan,
			Run:      f.breaking(1, unsafe),
			Progress: func(p SweepProgress) { said = append(said, p.String()) },
		}
		if err := s.Execute(t.Context()); err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(said, "\n"); !strings.Contains(all, "the lab broke; before that, a violation: two at once") {
			t.Errorf("it said:\n%s", all)
		}
		for _, when := range []string{"at once", "taken up again"} {
			sum, err := ReportSweep(dir)
			if err != nil {
				t.Fatal(err)
			}
			if violation, _, _ := SweepVerdict(sum); !violation {
				t.Errorf("saturate %v, %s: no violation in %+v", cfg.Saturate, when, sum)
			}
			if err := (&Sweep{Dir: dir, Plan: plan, Run: f.Run}).Execute(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := filepath.Glob(filepath.Join(dir, "*", "*", "*", rundir.ResultFile))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(kept, func(name string) bool {
			r, err := result.Read(filepath.Dir(name))
			return err == nil && sweep.FailedCheck(r) != ""
		}) {
			t.Errorf("saturate %v: the evidence is gone from %v", cfg.Saturate, kept)
		}
	}
}

// The holds of a sweep are as long as its scenario says, unless it compares what clients do with the resource.
func TestSweepsLeaveTheResource(t *testing.T) {
	for param, want := range map[string]bool{"clients=1,2": true, "guard=none,fencing": false} {
		for _, point := range mustPlan(t, SweepConfig{}, param).Points {
			if got := strings.Contains(point.Source, "section: none"); got != want {
				t.Errorf("%s: point %s leaves the resource alone: %t, want %t", param, point.Name, got, want)
			}
		}
	}
}

// A window that ended itself to spare somebody's ensemble was too much for it, and counts as a run of the search.
func TestASparedEnsembleWasAskedTooMuch(t *testing.T) {
	r := result.Result{Partial: true, Spared: "zk1 took 2 s"}
	if p := trialAt(t, capacity.Full, &r); p.Reason != capacity.Missed || p.Detail != "zk1 took 2 s" {
		t.Errorf("%+v", p)
	}
	var of sweep.PointRuns
	for _, search := range []bool{true, false} {
		add(&of, "x", &r, search)
	}
	if of.Runs[0].Result == nil || of.Runs[1].Result != nil || len(of.Broken) != 1 {
		t.Errorf("%+v", of)
	}
}

// A search over rates keeps the ceiling of its slowest recipe, and does not measure it again when it goes on. Nothing
// is measured of other searches.
func TestASearchKeepsItsCeiling(t *testing.T) {
	ceilings := map[string]float64{"mutex": 900, "naive-mutex": 400}
	asked := 0
	measure := func(recipe string) (float64, error) {
		asked++
		return ceilings[recipe], nil
	}
	rates := SweepConfig{Saturate: []string{"acquire.p99 < 20ms"}}
	dir := t.TempDir()
	plan := mustPlan(t, rates, "recipe=mutex,naive-mutex", "locks=1,2")
	if err := errors.Join(plan.SetCeiling(dir, measure), plan.Begin(dir)); err != nil || plan.Search.Ceiling != 400 ||
		plan.CeilingPerS != 400 || asked != 2 {
		t.Fatalf("%g after %d measurements, %v", plan.Search.Ceiling, asked, err)
	}
	ceilings["mutex"] = 100
	again := mustPlan(t, rates, "recipe=mutex,naive-mutex", "locks=1,2")
	if err := errors.Join(again.SetCeiling(dir, measure), again.Begin(dir)); err != nil || again.Search.Ceiling != 400 ||
		asked != 2 {
		t.Errorf("%g after %d measurements, %v", again.Search.Ceiling, asked, err)
	}
	f := fakeRun{result: capacityOf(321)} // above 80 % of 400
	if err := (&Sweep{Dir: dir, Plan: again, Run: f.Run}).Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := ReportSweep(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := s.Series[0].Points[0].Limit
	if _, unknown, _ := SweepVerdict(s); s.CeilingPerS != 400 || (*l.Lower > 320) != l.AtLeast || l.AtLeast && !unknown {
		t.Errorf("%+v", l)
	}
	for name, other := range map[string]*SweepPlan{
		"no search":    mustPlan(t, SweepConfig{}, "locks=1,2"),
		"other search": mustPlan(t, SweepConfig{Saturate: []string{"acquire.p99 < 20ms"}, Over: "locks"}, "recipe=mutex"),
	} {
		asked = 0
		if err := other.SetCeiling(t.TempDir(), measure); err != nil || asked != 0 || other.CeilingPerS != 0 {
			t.Errorf("%s: %g after %d measurements, %v", name, other.CeilingPerS, asked, err)
		}
	}
	broken := errors.New("broken")
	if err := mustPlan(t, rates, "recipe=mutex").SetCeiling(t.TempDir(),
		func(string) (float64, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
}
