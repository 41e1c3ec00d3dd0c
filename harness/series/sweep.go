package series

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/capacity"
	"locklab/reports/result"
	"locklab/reports/runpage"
	"locklab/reports/sweep"
)

// A Sweep carries out a plan. It leaves out the runs that have been done already, so it also resumes a sweep that was
// interrupted.
type Sweep struct {
	Dir  string // has the plan, see [SweepPlan.Begin]
	Plan *SweepPlan
	// Run carries out one run, as [Labs.Run] does.
	Run func(context.Context, Job) (judge.Outcome, error)
	// Progress is called before and after each run; nil = it is not called.
	Progress func(SweepProgress)

	done    int           // runs, with those of earlier attempts
	ran     int           // runs of this attempt
	planned int           // runs, as far as is known
	broken  int           // runs in a row that broke off
	took    time.Duration // all runs of this attempt
}

// SweepProgress is how far a sweep is.
type SweepProgress struct {
	Done, Planned int // runs; Planned is a guess for searches
	// Left is how long the rest will take if runs take as long as before; 0 if that is not known.
	Left time.Duration
	// What names the run that begins or, if Result or Err is not nil, is over.
	What   string
	Result *result.Result
	Err    error // why the run broke off
	// Judged is what a search makes of the run; empty of other runs.
	Judged string
}

func (p SweepProgress) String() string {
	left := ""
	if p.Left > 0 {
		left = ", " + p.Left.Round(time.Second).String() + " left"
	}
	head := fmt.Sprintf("[%d of %d%s] %s", p.Done, p.Planned, left, p.What)
	switch {
	case p.Err != nil:
		return head + ": broke off: " + p.Err.Error()
	case p.Result == nil:
		return head
	}
	show := func(name string) string {
		q, _ := result.Named(name)
		return q.Show(q.Value(p.Result))
	}
	return fmt.Sprintf("%s: %s acquired/s, acquire p99 %s, %s", head, show("acquired_per_s"), show("acquire.p99"),
		cmp.Or(p.Judged, string(p.Result.Verdict)))
}

// guessedTrials is how many trials a search is expected to take.
const guessedTrials = 28

// mostBroken is how many runs in a row break off before the sweep gives up, because the cause is then outside the runs.
const mostBroken = 3

// Execute does the runs of the plan that are missing. If a run breaks off, the sweep goes on with the next one; the run
// is repeated when the sweep is resumed. If ctx ends, the error is its cause.
func (s *Sweep) Execute(ctx context.Context) error {
	s.planned = len(s.Plan.Order)
	if s.Plan.Search != nil {
		s.planned *= guessedTrials
	}
	for _, r := range s.Plan.Order {
		if s.Plan.Search == nil {
			if _, _, err := s.ensureRun(ctx, r.Point, r.Repeat, nil); err != nil {
				return err
			}
			continue
		}
		trials, err := s.Plan.search(func(n int, ask *capacity.Ask) (*scenario.Scenario, *result.Result, error) {
			return s.ensureRun(ctx, r.Point, n, ask)
		})
		if err != nil {
			return err
		}
		s.planned += len(trials) - guessedTrials
	}
	return nil
}

// ensureRun makes sure that a point's n-th run is there, which is the trial that a search asks for if ask is not nil.
// It returns its scenario and its result, which is partial if the run broke off.
func (s *Sweep) ensureRun(
	ctx context.Context, point, n int, ask *capacity.Ask,
) (*scenario.Scenario, *result.Result, error) {
	sc, err := s.Plan.runScenario(point, n, ask)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.ensure(ctx, point, n, ask, sc)
	return sc, r, err
}

func (s *Sweep) ensure(
	ctx context.Context, point, n int, ask *capacity.Ask, sc *scenario.Scenario,
) (*result.Result, error) {
	dir := s.Plan.runDir(s.Dir, point, n)
	result, err := readRun(dir, sc)
	switch {
	case err != nil:
		return nil, err
	case result != nil && !result.Partial:
		s.done++
		return result, nil
	case result != nil && ask != nil && s.Plan.trialCounts(s.Dir, point, n, *result):
		return result, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.Plan.moveUnfinished(s.Dir, point, n); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	what := s.Plan.Points[point].Name
	if ask != nil {
		what += fmt.Sprintf(" %s=%s (%s)", s.Plan.Over, levelText(ask.Level), ask.Kind)
	}
	what = fmt.Sprintf("%s #%d", what, n)
	s.report(SweepProgress{What: what})
	began := time.Now()
	out, err := s.Run(ctx, Job{Scenario: sc, Dir: dir})
	s.ran++
	s.took += time.Since(began)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && out.Dir == "":
		return nil, err // there was no run
	}
	// The run directory decides whether the run counts, as it will when the sweep is resumed.
	result, readErr := readRun(dir, sc)
	switch {
	case readErr != nil:
		return nil, errors.Join(err, readErr)
	case result == nil:
		return nil, errors.Join(err, fmt.Errorf("%s has no run", dir))
	case err != nil || result.Partial:
		s.report(SweepProgress{What: what, Err: whyBroken(err, *result)})
		if errors.Is(err, run.ErrStrained) {
			if ask == nil {
				return nil, err // the next run might strain the ensemble as well
			}
			break // a search was allowed to find out what is too much
		}
		s.broken++
		if s.broken == mostBroken {
			return nil, fmt.Errorf("%d runs in a row broke off: %w", mostBroken, whyBroken(err, *result))
		}
	default:
		s.broken = 0
	}
	if result.Partial {
		return result, nil
	}
	s.done++
	if err == nil {
		p := SweepProgress{What: what, Result: result}
		if ask != nil {
			t := s.Plan.trialOf(*ask, sc, result)
			p.Judged = strings.TrimPrefix(string(t.Reason)+": "+t.Detail, ": ")
		}
		s.report(p)
	}
	return result, nil
}

// whyBroken returns why a run broke off, and the violation that it saw if it saw one.
func whyBroken(err error, r result.Result) error {
	if err == nil {
		err = errors.New("the run is partial")
	}
	if sweep.FailedCheck(&r) != "" {
		err = fmt.Errorf("%w; before that, a violation: %s", err, r.Headline)
	}
	return err
}

// report calls Progress with how far the sweep is.
func (s *Sweep) report(p SweepProgress) {
	if s.Progress == nil {
		return
	}
	p.Done, p.Planned = s.done, max(s.planned, s.done)
	if s.ran > 0 {
		p.Left = s.took / time.Duration(s.ran) * time.Duration(p.Planned-p.Done)
	}
	s.Progress(p)
}

// readRun returns the result of the run in a directory, which is partial if the run broke off; nil if there is no run.
// A complete run of another scenario is refused.
func readRun(dir string, sc *scenario.Scenario) (*result.Result, error) {
	of, err := rundir.ReadScenario(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := result.Read(dir)
	if err != nil || r.Partial {
		return r, err
	}
	if !bytes.Equal(of, sc.Marshal()) {
		return nil, fmt.Errorf("%w: %s has a run that does not belong to this sweep; move it away, "+
			"or choose another directory with --out", rundir.ErrDirInUse, dir)
	}
	return r, nil
}

// setup lists the names and values of what all runs of a sweep have in common: load, ensemble and machine, and when
// they were made.
func (p *SweepPlan) setup(dir string) ([][2]string, error) {
	var common [][2]string
	var first, last time.Time
	for i := range p.Points {
		sc, err := p.scenario(i)
		if err != nil {
			return nil, err
		}
		point := filepath.Dir(p.runDir(dir, i, 1))
		entries, err := os.ReadDir(point)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			env, err := rundir.ReadEnv(filepath.Join(point, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if at := time.Unix(0, env.StartedUnixNs); env.StartedUnixNs > 0 {
				if first.IsZero() || at.Before(first) {
					first = at
				}
				if at.After(last) {
					last = at
				}
			}
			all := runpage.Environment(sc, env)
			if common == nil {
				common = all
			}
			common = slices.DeleteFunc(common, func(f [2]string) bool { return !slices.Contains(all, f) })
		}
	}
	named := map[string]string{rateKey: "rate, a second", locksKey: locksKey, clientsKey: clientsKey}[p.Over]
	common = slices.DeleteFunc(common, func(f [2]string) bool {
		return f[0] == named || f[0] == "started" || f[0] == "ensemble ready after"
	})
	if !first.IsZero() {
		common = append(common, [2]string{"measured", fmt.Sprintf("runs begun from %s to %s",
			first.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339))})
	}
	return common, nil
}

// unfinishedDir has, by point, the directories of runs that broke off and were run again.
const unfinishedDir = "unfinished"

// trialCounts reports whether a search uses the n-th trial of a point although it is partial. It does so if the trial
// saw a violation, or if the search went on after it, because then the next trial follows from it.
func (p *SweepPlan) trialCounts(dir string, point, n int, r result.Result) bool {
	_, err := os.Stat(p.runDir(dir, point, n+1))
	return err == nil || sweep.FailedCheck(&r) != ""
}

// pointUnfinishedDir returns the directory of a point's runs that broke off and were run again.
func (p *SweepPlan) pointUnfinishedDir(dir string, point int) string {
	return filepath.Join(dir, unfinishedDir, p.Points[point].Name)
}

// moveUnfinished makes room for a point's n-th run. A run that broke off measured nothing, but a violation that it saw
// is evidence, so it is kept.
func (p *SweepPlan) moveUnfinished(dir string, point, n int) error {
	from := p.runDir(dir, point, n)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := os.MkdirAll(p.pointUnfinishedDir(dir, point), 0o755); err != nil {
		return err
	}
	for k := 1; ; k++ {
		to := filepath.Join(p.pointUnfinishedDir(dir, point), fmt.Sprintf("%02d-%d", n, k))
		if _, err := os.Stat(to); errors.Is(err, fs.ErrNotExist) {
			return os.Rename(from, to)
		} else if err != nil {
			return err
		}
	}
}

// readUnfinished reads a point's runs that broke off and were run again.
func (p *SweepPlan) readUnfinished(dir string, point int) ([]sweep.Run, error) {
	at := p.pointUnfinishedDir(dir, point)
	entries, err := os.ReadDir(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []sweep.Run
	for _, e := range entries {
		name := filepath.Join(at, e.Name())
		r, err := result.Read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it ended before it wrote a result
		}
		if err != nil {
			return nil, err
		}
		all = append(all, sweep.Run{Dir: relative(dir, name), Result: r})
	}
	return all, nil
}
