package series

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"locklab/ensembles"
	"locklab/harness/check/effect"
	"locklab/harness/check/evidence"
	"locklab/harness/fail"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/reports/danger"
	"locklab/reports/result"
)

// smallDanger returns a plan with two guards, one panel and two doses.
func smallDanger(t *testing.T) *DangerPlan {
	t.Helper()
	p := NewDangerPlan(DangerPlan{Seed: 7, Timeout: time.Second, Tick: 200 * time.Millisecond,
		Hold: 200 * time.Millisecond, Victims: 4, Servers: 3, Lab: ensembles.LabAuto, Panels: []string{PanelPause},
		Doses: []float64{2, 0.5}, Guards: []string{"none", "fencing"}})
	if err := p.Check(); err != nil {
		t.Fatal(err)
	}
	return p
}

// dangerLab stands for labs: it writes the directories of runs in which every pause of 2 session timeouts does harm.
type dangerLab struct {
	runs      []string // the directories, in their order
	interrupt int      // ends the context of this run, from 1; 0 = of none
	violate   bool
	spoil     bool // makes the result of the run before the last one unreadable
	cancel    context.CancelFunc
}

func (l *dangerLab) run(ctx context.Context, job Job) (judge.Outcome, error) {
	l.runs = append(l.runs, job.Dir)
	if n := len(l.runs) - 3; l.spoil && n >= 0 {
		if err := os.WriteFile(filepath.Join(l.runs[n], rundir.ResultFile), []byte("spoiled"), 0o644); err != nil {
			return judge.Outcome{}, err
		}
	}
	if err := os.MkdirAll(job.Dir, 0o755); err != nil {
		return judge.Outcome{}, err
	}
	if err := os.WriteFile(filepath.Join(job.Dir, rundir.ScenarioFile), job.Scenario.Marshal(), 0o644); err != nil {
		return judge.Outcome{}, err
	}
	r := result.Result{SchemaVersion: result.SchemaVersion, Seed: job.Scenario.Seed, Verdict: evidence.Pass}
	if len(l.runs) == l.interrupt {
		l.cancel()
		r.Partial = true
	}
	if l.violate {
		r.Verdict, r.Headline = evidence.Fail, "two holders at the servers"
		r.Checks = []result.CheckLine{{Name: evidence.ServiceExclusion, Expected: evidence.ExpectPass, Result: evidence.Fail,
			Outcome: evidence.Fail}}
	}
	for _, s := range job.Scenario.Plan(nil).Steps {
		harm := &evidence.Harm{}
		if s.Fault.For.Timeouts == 2 {
			harm.Overlaps = 3
		}
		length := int64(s.Fault.For.Timeouts * 1e9)
		r.Faults = append(r.Faults, effect.FaultRecord{ID: s.ID, InjectedNs: new(int64), HealedNs: &length, Verified: true,
			HealVerified: true, Harm: harm})
	}
	if err := rundir.WriteJSON(filepath.Join(job.Dir, rundir.ResultFile), r); err != nil {
		return judge.Outcome{}, err
	}
	return judge.Outcome{Dir: job.Dir, Result: r}, context.Cause(ctx)
}

func TestDangerMeasuresUntilPointsAreNarrow(t *testing.T) {
	p, dir, lab := smallDanger(t), t.TempDir(), &dangerLab{}
	if err := p.Begin(dir); err != nil {
		t.Fatal(err)
	}
	d := DangerRun{Dir: dir, Plan: p, Band: 0.2, Trials: 1000, Run: lab.run}
	if err := d.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := ReportDanger(dir, d.Band, d.Trials, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range got.Panels[0].Curves {
		short, long := c.Points[0], c.Points[1]
		if short.Dose != 0.5 || short.Believed.Count != 0 || long.Believed.Count != long.Trials() || long.Trials() < 16 {
			t.Errorf("%s: %+v and %+v", c.Name(), short, long)
		}
	}
	if got.Open != 0 {
		t.Errorf("%d points are open", got.Open)
	}
	made := len(lab.runs)
	if err := d.Execute(t.Context()); err != nil || len(lab.runs) != made {
		t.Errorf("what is done was run again: %v, %v", lab.runs[made:], err)
	}
	d.Band = 0.1
	if err := d.Execute(t.Context()); err != nil || len(lab.runs) == made {
		t.Errorf("a narrower band made no more runs: %v", err)
	}
}

// A long measurement has hundreds of runs, and each is read once.
func TestDangerReadsEachRunOnce(t *testing.T) {
	p, dir, lab := smallDanger(t), t.TempDir(), &dangerLab{spoil: true}
	if err := p.Begin(dir); err != nil {
		t.Fatal(err)
	}
	d := DangerRun{Dir: dir, Plan: p, Band: 0.2, Trials: 1000, Run: lab.run, Progress: func(DangerProgress) {}}
	if err := d.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := ReportDanger(dir, d.Band, d.Trials, ""); err == nil {
		t.Errorf("the results of %d runs were not spoiled", len(lab.runs))
	}
}

func TestDangerGoesOnAfterAnInterrupt(t *testing.T) {
	p, dir := smallDanger(t), t.TempDir()
	if err := p.Begin(dir); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	lab := &dangerLab{interrupt: 2, cancel: cancel}
	d := DangerRun{Dir: dir, Plan: p, Band: 0.3, Trials: 1000, Run: lab.run}
	if err := d.Execute(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted: %v", err)
	}
	again, err := ReadDangerPlan(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, again, cmp.AllowUnexported(DangerPlan{})); diff != "" {
		t.Errorf("the plan that was read (-written +read):\n%s", diff)
	}
	d.Plan, d.Run = again, (&dangerLab{}).run
	if err := d.Execute(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := ReportDanger(dir, d.Band, d.Trials, "")
	if err != nil || got.Open != 0 {
		t.Errorf("%d points are open after it went on: %v", got.Open, err)
	}
}

func TestDangerEndsWithAViolation(t *testing.T) {
	p, dir, lab := smallDanger(t), t.TempDir(), &dangerLab{violate: true}
	if err := p.Begin(dir); err != nil {
		t.Fatal(err)
	}
	d := DangerRun{Dir: dir, Plan: p, Band: 0.3, Trials: 1000, Run: lab.run}
	if err := d.Execute(t.Context()); !errors.Is(err, ErrUnexplained) || len(lab.runs) != 1 {
		t.Errorf("%d runs, and %v", len(lab.runs), err)
	}
	got, err := ReportDanger(dir, d.Band, d.Trials, "")
	if err != nil || !strings.Contains(got.Violation, "two holders") {
		t.Errorf("the report says %q, %v", got.Violation, err)
	}
}

// The same seed makes the same pauses, and a victim's order does not depend on which lengths are done.
func TestDangerRoundsFollowTheSeed(t *testing.T) {
	p := smallDanger(t)
	c := p.curves()[0]
	round := func(n int, doses ...float64) []string {
		sc, err := p.round(c, n, doses)
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, f := range sc.Faults {
			all = append(all, fmt.Sprint(f.Target, f.For))
		}
		return append(all, fmt.Sprint(sc.Seed))
	}
	if diff := cmp.Diff(round(1, 0.5, 2), round(1, 0.5, 2)); diff != "" {
		t.Errorf("the same round twice:\n%s", diff)
	}
	if slices.Equal(round(1, 0.5, 2), round(2, 0.5, 2)) {
		t.Error("two rounds are the same")
	}
	one := round(1, 2)
	if n := len(one) - 1; n != 4*leastFaults {
		t.Errorf("%d pauses of 4 victims with one open length, want %d", n, 4*leastFaults)
	}
}

func TestDangerLeavesOutWhatIsNoTrial(t *testing.T) {
	p := smallDanger(t)
	c := p.curves()[0]
	sc, err := p.round(c, 1, []float64{0.5})
	if err != nil {
		t.Fatal(err)
	}
	at := func(ns int64) *int64 { return &ns }
	good := effect.FaultRecord{ID: "f1", InjectedNs: at(1e9), HealedNs: at(1.5e9), Verified: true,
		Harm: &evidence.Harm{}}
	for want, change := range map[string]func(*effect.FaultRecord){
		"":              func(*effect.FaultRecord) {},
		leftNotReached:  func(f *effect.FaultRecord) { f.InjectedNs = nil },
		leftUnverified:  func(f *effect.FaultRecord) { f.Verified = false },
		leftUnjudged:    func(f *effect.FaultRecord) { f.Harm = nil },
		leftUnsure:      func(f *effect.FaultRecord) { f.Harm = &evidence.Harm{Unsure: 1} },
		leftOtherLength: func(f *effect.FaultRecord) { f.HealedNs = at(1.6e9) },
	} {
		f := good
		change(&f)
		if got := p.trialsOf(c, sc, &result.Result{Faults: []effect.FaultRecord{f}})[0]; got.LeftOut != want {
			t.Errorf("%+v is left out for %q, want %q", f, got.LeftOut, want)
		}
	}
}

func TestDangerRefusesPlans(t *testing.T) {
	for want, change := range map[string]func(*DangerPlan){
		"--panels: there is no panel x": func(p *DangerPlan) { p.Panels = []string{"x"} },
		"--guards: there is no guard x": func(p *DangerPlan) { p.Guards = []string{"x"} },
		"--doses: 2 is given twice":     func(p *DangerPlan) { p.Doses = []float64{2, 2} },
		"--victims: 0 victims":          func(p *DangerPlan) { p.Victims = 0 },
		"make more than": func(p *DangerPlan) {
			p.Victims, p.Doses = 60, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17}
		},
		"--hold: a hold of 2s with":  func(p *DangerPlan) { p.Hold = 2 * time.Second },
		"no-such-lock":               func(p *DangerPlan) { p.Recipes = []string{"no-such-lock"} },
		"--session-timeout: servers": func(p *DangerPlan) { p.Timeout = 300 * time.Millisecond },
	} {
		p := smallDanger(t)
		change(p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Another measurement is drawn in the same picture, and stays there when the report is made again. One that has nothing
// in common is refused before anything is measured.
func TestDangerBesideAnother(t *testing.T) {
	measured := func(change func(*DangerPlan)) string {
		p, dir := smallDanger(t), t.TempDir()
		change(p)
		if err := p.Begin(dir); err != nil {
			t.Fatal(err)
		}
		d := DangerRun{Dir: dir, Plan: p, Band: 0.5, Trials: 16, Run: (&dangerLab{}).run}
		if err := d.Execute(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := ReportDanger(dir, d.Band, d.Trials, ""); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	simulated := measured(func(p *DangerPlan) { p.Lab = ensembles.LabSim })
	dir := measured(func(*DangerPlan) {})
	if err := smallDanger(t).CheckBeside(simulated); err != nil {
		t.Error(err)
	}
	for _, beside := range []string{simulated, ""} {
		d, err := ReportDanger(dir, 0.5, 16, beside)
		if err != nil || d.Beside == nil || d.Beside.Name != "simulated" || d.Beside.Of != 4 || d.Beside.Within != 4 {
			t.Errorf("beside %q: %+v, %v", beside, d.Beside, err)
		}
	}
	for want, change := range map[string]func(*DangerPlan){
		"a session timeout of 1s":          func(p *DangerPlan) { p.Timeout = 2 * time.Second },
		"has no point of this measurement": func(p *DangerPlan) { p.Doses = []float64{3} },
		"has no point of":                  func(p *DangerPlan) { p.Guards = []string{"zk-multi"} },
	} {
		p := smallDanger(t)
		change(p)
		if err := p.CheckBeside(simulated); !errors.Is(err, fail.Input) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Each pair of a victim and its rival has a lock of its own, so recipes whose clients have only one can be measured.
func TestDangerMeasuresOtherLocks(t *testing.T) {
	p := smallDanger(t)
	p.Guards, p.Recipes = nil, []string{"zk-lock", "curator-mutex", "exec:/bin/true"}
	if err := p.Check(); err != nil {
		t.Error(err)
	}
}

// Each panel's runs are recognized by what is in their directory, with the doses that were open.
func TestDangerPanelsKnowTheirRuns(t *testing.T) {
	for _, name := range DangerPanels() {
		t.Run(name, func(t *testing.T) {
			p := smallDanger(t)
			p.Panels, p.Doses = []string{name}, []float64{0.25, 0.67, 1.1, 3}
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
			c := p.curves()[0]
			open := []float64{0.67, 3}
			sc, err := p.round(c, 2, open)
			if err != nil {
				t.Fatal(err)
			}
			of, err := p.belongs(t.TempDir(), sc.Marshal(), c, 2)
			if err != nil {
				t.Fatal(err)
			}
			planned := map[float64]int{}
			for _, f := range of.Faults {
				planned[panelOf(name).doseOf(f, p.Timeout, p.Doses)]++
			}
			if len(planned) != 2 || planned[0.67] == 0 || planned[0.67] != planned[3] {
				t.Errorf("the run has these doses so often: %v", planned)
			}
			p.Seed++
			if _, err := p.belongs(t.TempDir(), sc.Marshal(), c, 2); !errors.Is(err, rundir.ErrDirInUse) {
				t.Errorf("another plan's run: %v", err)
			}
		})
	}
}

// A server that is cut off strikes each holder that is connected to it, and a slow link counts by its delay.
func TestDangerTrialsOfPanels(t *testing.T) {
	at := func(ns int64) *int64 { return &ns }
	run := func(panel string, healed int64, r effect.FaultRecord) []danger.Trial {
		p := smallDanger(t)
		p.Panels = []string{panel}
		c := p.curves()[0]
		sc, err := p.round(c, 1, []float64{0.5})
		if err != nil {
			t.Fatal(err)
		}
		r.ID, r.InjectedNs, r.HealedNs, r.Verified, r.Harm = "f1", at(1e9), at(healed), true, &evidence.Harm{Overlaps: 1}
		return p.trialsOf(c, sc, &result.Result{Faults: []effect.FaultRecord{r}})
	}
	all := run(PanelIsolated, 1.5e9, effect.FaultRecord{Holders: []effect.HolderHarm{{Client: "c1/0"},
		{Client: "c2/0", Harm: evidence.Harm{Overlaps: 1}}, {Client: "c3/0", Harm: evidence.Harm{Unsure: 1}}}})
	if len(all) != 3 || all[0].Believed || !all[1].Believed || all[2].LeftOut != leftUnsure || all[0].Dose != 0.5 {
		t.Errorf("three holders were struck: %+v", all)
	}
	if all := run(PanelIsolated, 1.5e9, effect.FaultRecord{}); len(all) != 0 {
		t.Errorf("nobody held a lock: %+v", all)
	}
	if all := run(PanelSlow, 8e9, effect.FaultRecord{}); len(all) != 1 || all[0].Dose != 0.5 || !all[0].Believed {
		t.Errorf("the link was slow: %+v", all)
	}
	if all := run(PanelCut, 1.6e9, effect.FaultRecord{}); len(all) != 1 || all[0].LeftOut != leftOtherLength {
		t.Errorf("the cut was too long: %+v", all)
	}
}
