package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"locklab/harness/scenario"
	"locklab/reports"
	"locklab/reports/capacity"
)

// A Sweep carries out a plan. What has been run already is not run again, so it is also how an
// interrupted sweep goes on.
type Sweep struct {
	Dir  string // has the plan, see Begin
	Plan *SweepPlan
	// Run carries out one run, as [Series.Run] does.
	Run func(ctx context.Context, sc *scenario.Scenario, dir string) (Outcome, error)
	// Progress is told before and after each run; nil = nobody.
	Progress func(SweepProgress)

	done    int // runs, those of an earlier attempt included
	ran     int // in this attempt
	planned int // runs, as far as is known
	begun   time.Time
	broken  int // in a row
	seconds float64
}

// SweepProgress is how far a sweep is.
type SweepProgress struct {
	Done, Planned int // runs; of searches, Planned is a guess
	// Left is how long it will take, by what runs took so far; 0 if that is not known.
	Left time.Duration
	// What is the run that begins or, if Result is not nil, is over.
	What   string
	Result *reports.Result
	Err    error // why the run broke off
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
	r := p.Result
	rate := "n/a"
	if v := r.Throughput.AcquiredPerS; v != nil {
		rate = fmt.Sprintf("%.1f/s", *v)
	}
	p99 := "n/a"
	if v := r.Latency.Acquire.P99Ns; v != nil {
		p99 = time.Duration(*v).Round(10 * time.Microsecond).String()
	}
	return fmt.Sprintf("%s: %s, acquire p99 %s, %s", head, rate, p99, r.Verdict)
}

// guessedProbes is how many probes a search takes, before any is done.
const guessedProbes = 16

// mostBroken is how many runs in a row may break off before the sweep does: it is not they, then.
const mostBroken = 3

// Execute runs what is left of the plan. A run that breaks off is left out, and the sweep goes on with the
// next; it will be run again when the sweep is taken up again. If ctx ends, the error is its cause.
func (s *Sweep) Execute(ctx context.Context) error {
	s.begun = time.Now()
	s.planned = len(s.Plan.Order)
	if s.Plan.Search != nil {
		s.planned *= guessedProbes
	}
	for _, r := range s.Plan.Order {
		var err error
		if s.Plan.Search != nil {
			err = s.search(ctx, r.Point)
		} else {
			_, err = s.once(ctx, r.Point, r.Repeat, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// search probes a point until its limit is known. Probes that were made before count.
func (s *Sweep) search(ctx context.Context, point int) error {
	var probes []capacity.Probe
	for {
		rate, more := s.Plan.Search.Next(probes)
		if !more {
			s.planned += len(probes) - guessedProbes
			return nil
		}
		r, err := s.once(ctx, point, len(probes)+1, rateText(rate))
		if err != nil {
			return err
		}
		probes = append(probes, probeOf(rate, *r))
	}
}

// once makes sure that a point's n-th run is there, at a rate if that is not empty, and returns its
// result; a partial one if it broke off.
func (s *Sweep) once(ctx context.Context, point, n int, rate string) (*reports.Result, error) {
	sc, err := s.Plan.run(point, n)
	if err != nil {
		return nil, err
	}
	if rate != "" {
		if err := sc.Set(rateKey, rate); err != nil {
			return nil, err
		}
	}
	dir := s.Plan.runDir(s.Dir, point, n)
	result, err := readRun(dir, sc)
	switch {
	case err != nil:
		return nil, err
	case result != nil && !result.Partial:
		s.done++
		return result, nil
	case result != nil && rate != "" && s.Plan.settled(s.Dir, point, n, *result):
		return result, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := s.Plan.putAside(s.Dir, point, n); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	what := s.Plan.Points[point].Name
	if rate != "" {
		what += " rate=" + rate
	}
	what = fmt.Sprintf("%s #%d", what, n)
	s.tell(SweepProgress{What: what})
	began := time.Now()
	out, err := s.Run(ctx, sc, dir)
	s.ran++
	s.seconds += time.Since(began).Seconds()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && out.Dir == "":
		return nil, err // not the run: there was none
	}
	// Whether it counts is what its directory says, by which whoever takes the sweep up again will go.
	result, readErr := readRun(dir, sc)
	switch {
	case readErr != nil:
		return nil, errors.Join(err, readErr)
	case result == nil:
		return nil, errors.Join(err, fmt.Errorf("%s has no run", dir))
	case err != nil || result.Partial:
		s.broken++
		s.tell(SweepProgress{What: what, Err: whyBroken(err, *result)})
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
		s.tell(SweepProgress{What: what, Result: result})
	}
	return result, nil
}

// whyBroken says why a run broke off, and that it saw a violation if it did.
func whyBroken(err error, r reports.Result) error {
	if err == nil {
		err = errors.New("it is partial")
	}
	if violated(r) {
		err = fmt.Errorf("%w; before that, a violation: %s", err, r.Headline)
	}
	return err
}

func (s *Sweep) tell(p SweepProgress) {
	if s.Progress == nil {
		return
	}
	p.Done, p.Planned = s.done, max(s.planned, s.done)
	if s.ran > 0 {
		p.Left = time.Duration(s.seconds / float64(s.ran) * float64(p.Planned-p.Done) * float64(time.Second))
	}
	s.Progress(p)
}

// readRun returns the result of the run in a directory, which is partial if the run did not end; nil if there is
// none. One that is whole must be of that scenario.
func readRun(dir string, sc *scenario.Scenario) (*reports.Result, error) {
	of, err := os.ReadFile(filepath.Join(dir, scenarioFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r, err := loadResult(dir)
	if err != nil || r.Partial {
		return r, err
	}
	if !bytes.Equal(of, sc.Marshal()) {
		return nil, fmt.Errorf("%w: %s has a run that is not of this sweep; move it away, or choose another directory with --out", ErrDirInUse, dir)
	}
	return r, nil
}

func loadResult(dir string) (*reports.Result, error) {
	name := filepath.Join(dir, resultFile)
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var r reports.Result
	if err := json.Unmarshal(b, &r); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return &r, nil
}
