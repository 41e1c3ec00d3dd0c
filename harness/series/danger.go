package series

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness/check/evidence"
	"locklab/harness/fail"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/danger"
	"locklab/reports/result"
	"locklab/reports/sweep"
	"locklab/reports/words"
)

// A DangerRun carries out a plan in rounds: each round is one run of each curve that has points whose intervals are
// still too wide. It goes on from the runs that are there already.
type DangerRun struct {
	Dir  string // has the plan, see [DangerPlan.Begin]
	Plan *DangerPlan
	// Band is how wide an interval may be for its point to be done. A point with Trials trials is done too.
	Band   float64
	Trials int
	// Budget bounds how long all takes; 0 = as long as it takes. A run that has begun is finished.
	Budget time.Duration
	// Run carries out one run, as [Labs.Run] does.
	Run func(context.Context, Job) (judge.Outcome, error)
	// Progress is called after each run; nil = it is not called.
	Progress func(DangerProgress)

	read map[dangerCurve]*dangerTrials // so far
	ran  int
	took time.Duration
}

// DangerProgress is how far a measurement is.
type DangerProgress struct {
	What   string // the run that is over
	Trials int    // of that run
	Out    int    // faults of that run that are left out
	Open   int    // points that are not done
	Left   time.Duration
	Err    error // why the run broke off
}

func (p DangerProgress) String() string {
	left := ""
	if p.Left > 0 {
		left = ", about " + p.Left.Round(time.Second).String() + " left"
	}
	head := fmt.Sprintf("[%s open%s] %s: ", words.Count(int64(p.Open), "point"), left, p.What)
	if p.Err != nil {
		return head + "broke off: " + p.Err.Error()
	}
	return head + fmt.Sprintf("%s, %s left out", words.Count(int64(p.Trials), "trial"), words.Count(int64(p.Out), "fault"))
}

// ErrUnexplained says that a run found a violation that no fault explains.
var ErrUnexplained = fail.Violation.New("a violation that no fault explains")

// Execute makes runs until every point is done or the budget is used up. If ctx ends, the error is its cause. If a run
// finds a violation, Execute ends at once with [ErrUnexplained].
func (d *DangerRun) Execute(ctx context.Context) error {
	began := time.Now()
	curves := d.Plan.curves()
	// Curves of one lab are measured together, because a lab takes long to make.
	for from := 0; from < len(curves); {
		to := from + 1
		for to < len(curves) && d.sameLab(curves[from], curves[to]) {
			to++
		}
		var until time.Time
		if d.Budget > 0 {
			left := d.Budget - time.Since(began)
			until = time.Now().Add(left * time.Duration(to-from) / time.Duration(len(curves)-from))
		}
		if err := d.rounds(ctx, curves[from:to], until); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (d *DangerRun) sameLab(a, b dangerCurve) bool { return a.recipe == b.recipe }

func (d *DangerRun) rounds(ctx context.Context, curves []dangerCurve, until time.Time) error {
	broken := 0
	for {
		open := 0
		for _, c := range curves {
			doses, n, err := d.next(c)
			if err != nil {
				return err
			}
			if len(doses) == 0 || !until.IsZero() && time.Now().After(until) {
				continue
			}
			open++
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			err = d.one(ctx, c, n, doses)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, ErrUnexplained):
				return err
			case err == nil:
				broken = 0
			default:
				if broken++; broken == mostBroken {
					return fmt.Errorf("%d runs in a row broke off: %w", mostBroken, err)
				}
			}
		}
		if open == 0 {
			return nil
		}
	}
}

// next returns the doses of a curve that are not done, and the number of its next run.
func (d *DangerRun) next(c dangerCurve) (doses []float64, n int, err error) {
	runs, err := d.runs(c)
	if err != nil {
		return nil, 0, err
	}
	curve := runs.curve(d.Plan, c)
	for i := range curve.Points {
		if p := &curve.Points[i]; p.Open(d.Band, d.Trials) {
			doses = append(doses, p.Dose)
		}
	}
	return doses, runs.last + 1, nil
}

// runs returns the runs of a curve so far. It reads those that are new.
func (d *DangerRun) runs(c dangerCurve) (*dangerTrials, error) {
	all := d.read[c]
	if all == nil {
		all = &dangerTrials{}
	}
	if err := d.Plan.read(d.Dir, c, all); err != nil {
		return nil, err
	}
	if d.read == nil {
		d.read = map[dangerCurve]*dangerTrials{}
	}
	d.read[c] = all
	return all, nil
}

func (d *DangerRun) one(ctx context.Context, c dangerCurve, n int, doses []float64) error {
	sc, err := d.Plan.round(c, n, doses)
	if err != nil {
		return err
	}
	dir := d.Plan.dir(d.Dir, c, n)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	began := time.Now()
	out, err := d.Run(ctx, Job{Scenario: sc, Dir: dir, Undrawn: true})
	d.ran++
	d.took += time.Since(began)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if out.Dir != "" && sweep.FailedCheck(&out.Result) != "" {
		return fmt.Errorf("%w: %s: %s; see: locklab report %s", ErrUnexplained, c, out.Result.Headline, dir)
	}
	if err == nil && out.Result.Partial {
		err = errors.New("the run is partial")
	}
	p := DangerProgress{What: fmt.Sprintf("%s #%d", c, n), Err: err}
	if err == nil {
		trials := d.Plan.trialsOf(c, sc, &out.Result)
		for _, t := range trials {
			if t.LeftOut != "" {
				p.Out++
			}
		}
		p.Trials = len(trials) - p.Out
	}
	if d.Progress != nil {
		if lerr := d.left(&p); lerr != nil {
			return lerr
		}
		d.Progress(p)
	}
	return err
}

// left says how many points are open, and how long they will take if runs take as long as before.
func (d *DangerRun) left(p *DangerProgress) error {
	runs := 0
	for _, c := range d.Plan.curves() {
		all, err := d.runs(c)
		if err != nil {
			return err
		}
		curve, most := all.curve(d.Plan, c), 0
		for i := range curve.Points {
			missing := curve.Points[i].Missing(d.Band, d.Trials)
			if most = max(most, missing); missing > 0 {
				p.Open++
			}
		}
		each := d.Plan.Victims // trials of a dose in a run
		if panelOf(c.panel).strikesServers() {
			each = max(1, each/d.Plan.Servers)
		}
		runs += (most + each - 1) / each
	}
	p.Left = d.took / time.Duration(max(d.ran, 1)) * time.Duration(runs)
	return nil
}

// dangerTrials are the runs of a curve so far.
type dangerTrials struct {
	last      int // the number of the last run
	trials    []danger.Trial
	costs     []danger.RunCost
	grants    int64
	violation string
}

func (r *dangerTrials) curve(p *DangerPlan, c dangerCurve) danger.Curve {
	return danger.CurveOf(c.recipe, c.guard, p.Doses, r.trials, r.costs, r.grants)
}

// read adds the runs of a curve that follow the last one that was read. Runs that broke off count only for a violation
// that they saw.
func (p *DangerPlan) read(dir string, c dangerCurve, all *dangerTrials) error {
	for n := all.last + 1; ; n++ {
		at := p.dir(dir, c, n)
		if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		all.last = n
		sc, err := rundir.ReadScenario(at)
		var r *result.Result
		if err == nil {
			r, err = result.Read(at)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended before it wrote that
		}
		if err != nil {
			return err
		}
		if sweep.FailedCheck(r) != "" {
			all.violation = fmt.Sprintf("%s #%d: %s", c, n, r.Headline)
		}
		if r.Partial {
			continue
		}
		of, err := p.belongs(at, sc, c, n)
		if err != nil {
			return err
		}
		all.trials = append(all.trials, p.trialsOf(c, of, r)...)
		all.grants += r.Operations.Acquired
		all.costs = append(all.costs, costOf(r))
	}
}

// belongs returns the scenario of a run if it is one that the plan makes for that curve and number, with whatever doses
// were open then.
func (p *DangerPlan) belongs(at string, text []byte, c dangerCurve, n int) (*scenario.Scenario, error) {
	sc, err := scenario.Load(filepath.Join(at, rundir.ScenarioFile), text)
	if err != nil {
		return nil, err
	}
	var doses []float64
	for _, f := range sc.Faults {
		if dose := panelOf(c.panel).doseOf(f, p.Timeout, p.Doses); !slices.Contains(doses, dose) {
			doses = append(doses, dose)
		}
	}
	if len(doses) > 0 {
		want, err := p.round(c, n, doses)
		if err == nil && bytes.Equal(want.Marshal(), text) {
			return want, nil
		}
	}
	return nil, fmt.Errorf("%w: %s has a run that does not belong to this measurement; move it away, or choose another "+
		"directory with --out", rundir.ErrDirInUse, at)
}

// Why a fault is no trial.
const (
	leftNotReached  = "the run ended first"
	leftUnverified  = "not verified"
	leftUnjudged    = "not judged"
	leftUnsure      = "not attributable"
	leftOtherLength = "other length than planned"
)

// lengthMargin is by how much a fault may be longer or shorter than planned, in session timeouts.
const lengthMargin = 0.05

// trialsOf returns what became of the faults of a run. A loaded machine ends a fault late. If its length is the dose,
// it counts at the length that it had, if that is another one of the plan.
func (p *DangerPlan) trialsOf(c dangerCurve, sc *scenario.Scenario, r *result.Result) []danger.Trial {
	panel := panelOf(c.panel)
	doses := map[string]float64{}
	for _, s := range sc.Plan(nil).Steps {
		doses[s.ID] = panel.doseOf(s.Fault, p.Timeout, p.Doses)
	}
	var all []danger.Trial
	for _, f := range r.Faults {
		t := danger.Trial{Dose: doses[f.ID]}
		switch {
		case f.InjectedNs == nil:
			t.LeftOut = leftNotReached
		case !f.Verified || f.HealedNs == nil:
			t.LeftOut = leftUnverified
		case f.Harm == nil:
			t.LeftOut = leftUnjudged
		default:
			t.LengthNs = *f.HealedNs - *f.InjectedNs
			if !panel.delays {
				t.Dose, t.LeftOut = doseOfLength(float64(t.LengthNs)/float64(sc.Negotiated()), t.Dose, doses)
			}
		}
		switch {
		case t.LeftOut != "":
			all = append(all, t)
		case panel.strikesServers():
			for i := range f.Holders {
				all = append(all, outcome(t, &f.Holders[i].Harm))
			}
		default:
			all = append(all, outcome(t, f.Harm))
		}
	}
	return all
}

func outcome(t danger.Trial, h *evidence.Harm) danger.Trial {
	if h.Unsure > 0 {
		t.LeftOut = leftUnsure
		return t
	}
	t.Believed, t.Stale, t.Lost, t.GivenUp = h.Overlaps > 0, h.StaleAccepted > 0, h.LostUpdates > 0, h.GivenUpValid
	return t
}

// doseOfLength returns the dose of a fault of a length, or why it has none.
func doseOfLength(length, planned float64, doses map[string]float64) (dose float64, leftOut string) {
	dose, leftOut = planned, leftOtherLength
	for _, d := range doses {
		if math.Abs(length-d) <= min(lengthMargin, math.Abs(length-dose)) {
			dose, leftOut = d, ""
		}
	}
	return dose, leftOut
}

func costOf(r *result.Result) danger.RunCost {
	value := func(name string) *float64 {
		q, ok := result.Named(name)
		if !ok {
			return nil
		}
		return q.Value(r)
	}
	return danger.RunCost{AcquireP50Ns: value("acquire.p50"), HandOffP50Ns: value("handoff.p50"),
		Requests: value("server.requests_per_acquire"), PerSecond: value("acquired_per_s")}
}

// ReportDanger reads the runs that the measurement in dir has so far, and replaces its danger.json and its report. Band
// and trials say which points are done, see [DangerRun]. Beside is the directory of another measurement, whose points
// are drawn in the same picture; without one, those stay that the report had.
func ReportDanger(dir string, band float64, trials int, beside string) (*danger.Danger, error) {
	p, err := ReadDangerPlan(dir)
	if err != nil {
		return nil, err
	}
	d := &danger.Danger{SchemaVersion: danger.SchemaVersion, Seed: p.Seed, TimeoutNs: int64(p.Timeout),
		TickNs: int64(p.Tick), Victims: p.Victims, Servers: p.Servers, Warnings: []string{}}
	if p.Lab == ensembles.LabSim {
		d.Warnings = append(d.Warnings, result.SimulatedCaveat)
	}
	for i := range dangerPanels {
		panel := &dangerPanels[i]
		if !slices.Contains(p.Panels, panel.name) {
			continue
		}
		drawn := danger.Panel{Name: panel.name, Title: panel.title, Faults: panel.faults, Axis: panel.axis,
			HoldNs: int64(panel.holds(p)), PastCheck: panel.trigger == chaos.TriggerWrite, Expires: panel.expires(p)}
		for _, c := range p.curves() {
			if c.panel != panel.name {
				continue
			}
			runs := &dangerTrials{}
			if err := p.read(dir, c, runs); err != nil {
				return nil, err
			}
			if runs.violation != "" && d.Violation == "" {
				d.Violation = runs.violation
			}
			curve := runs.curve(p, c)
			for i := range curve.Points {
				if curve.Points[i].Open(band, trials) {
					d.Open++
				}
			}
			drawn.Curves = append(drawn.Curves, curve)
		}
		d.Panels = append(d.Panels, drawn)
	}
	if err := putBeside(d, dir, beside); err != nil {
		return nil, err
	}
	d.Headline = strings.Join(d.Headlines(), " ")
	return d, errors.Join(rundir.WriteJSON(filepath.Join(dir, dangerFile), d), danger.Render(dir, d))
}
