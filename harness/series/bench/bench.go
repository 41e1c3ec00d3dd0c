package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/series"
	"locklab/reports/compare"
	"locklab/reports/index"
)

// The folders of a benchmark besides the folders of its sides.
const (
	warmUpDir     = "warmup"
	unfinishedDir = "unfinished"
)

// Progress is how far a benchmark is after a run.
type Progress struct {
	Side string
	// Name is the run directory below the benchmark's.
	Name    string
	Outcome judge.Outcome
	// WarmUp says that the run does not count.
	WarmUp bool
	// Done is how many of the Turns samples there are. The rest will take about Left; 0 if that is not known yet. Within
	// a budget, Turns is 0, and the rest takes at most Left.
	Done, Turns int
	Left        time.Duration
	// Look is what a comparison of the samples so far came to, if there was one after this run.
	Look *compare.Report
}

// Run makes the samples below dir, which must be empty or absent, and reports each run. If the sides need different
// labs, each has a lab of its own for as long as the benchmark lasts. If a run breaks off or ctx ends, the samples up
// to then are kept; a run that broke off is not among them.
func Run(ctx context.Context, c Config, dir string, opts run.Options, report func(Progress)) (err error) {
	if err := rundir.CheckDir(dir); err != nil {
		return err
	}
	opts.OtherClients, opts.Beside = c.HeadClients, c.beside()
	b := benchmark{config: c, dir: dir, report: report, labs: &series.Labs{Options: opts, Most: 2}, begun: time.Now()}
	defer func() { err = errors.Join(err, b.labs.Close()) }()
	if err := b.open(ctx); err != nil {
		return err
	}
	if err := b.writePlan(); err != nil {
		return err
	}
	err = b.warmUp(ctx)
	if err == nil {
		err = b.runs(ctx)
	}
	return errors.Join(err, b.writeSamples(), index.Update(b.dir, "Benchmark of "+b.config.Base.Name))
}

// A benchmark is a configuration while it is carried out.
type benchmark struct {
	config Config
	dir    string
	report func(Progress)
	labs   *series.Labs
	begun  time.Time
	looks  []compare.Look
}

// open makes the lab, or two labs if the sides need different ones.
func (b *benchmark) open(ctx context.Context) error {
	for _, side := range b.config.sides() {
		if err := b.labs.Open(ctx, b.config.of(side)); err != nil {
			return err
		}
	}
	return nil
}

// warmUp runs each side once without counting, because the first run on fresh servers is slow, and so is the first run
// of a fresh binary.
func (b *benchmark) warmUp(ctx context.Context) error {
	turns := b.config.Turns()
	for _, t := range turns[:len(b.config.sides())] {
		name := filepath.Join(warmUpDir, t.Side)
		out, err := b.one(ctx, t, name)
		if err != nil {
			return err
		}
		b.report(Progress{Side: t.Side, Name: name, Outcome: out, WarmUp: true})
	}
	return nil
}

// runs carries out all turns, or as many as a budget needs.
func (b *benchmark) runs(ctx context.Context) error {
	turns := b.config.Turns()
	begun := time.Now()
	violated := false
	for i, t := range turns {
		out, err := b.one(ctx, t, t.Dir())
		if err != nil {
			return err
		}
		each := time.Since(begun) / time.Duration(i+1)
		p := Progress{Side: t.Side, Name: t.Dir(), Outcome: out, Done: i + 1, Turns: len(turns),
			Left: each * time.Duration(len(turns)-i-1)}
		enough := false
		violated = violated || t.Side == Head && out.Report.Verdict == evidence.Fail
		if b.config.Budget > 0 {
			p.Turns, p.Left = 0, max(0, b.config.Budget-time.Since(b.begun))
			if i%2 == 1 {
				p.Look, enough, err = b.look(t.Number, 2*each, i+1 == len(turns))
			}
			// Whatever the speed, a violation of the head is the answer. The pair is completed, for the comparison.
			enough = enough || violated && i%2 == 1
		}
		b.report(p)
		if enough || err != nil {
			return err
		}
	}
	return nil
}

// one carries out one run and judges it. It draws no report, which would take longer than a short run does.
func (b *benchmark) one(ctx context.Context, t Turn, name string) (judge.Outcome, error) {
	sc := b.config.of(t.Side).Clone()
	sc.Seed = t.Seed
	dir := filepath.Join(b.dir, name)
	out, err := b.labs.Run(ctx, series.Job{Scenario: sc, Dir: dir, Undrawn: true,
		OtherClients: t.Side == Head && b.config.HeadClients != ""})
	if err == nil || out.Dir == "" {
		return out, err
	}
	if out.Report.Verdict == evidence.Fail {
		b.report(Progress{Side: t.Side, Name: name, Outcome: out, WarmUp: true}) // the violation counts all the same
	}
	err = fmt.Errorf("%s: %w", name, err)
	aside := filepath.Join(b.dir, unfinishedDir, strings.ReplaceAll(name, string(filepath.Separator), "-"))
	return out, errors.Join(err, os.MkdirAll(filepath.Dir(aside), 0o755), os.Rename(dir, aside))
}

// look compares the pairs so far if it is time to, and reports whether they are enough: because the comparison has an
// answer, or because the budget does not have another pair, which takes as long as each.
func (b *benchmark) look(pairs int, each time.Duration, last bool) (*compare.Report, bool, error) {
	used := time.Since(b.begun)
	spent := min(1, float64(used)/float64(b.config.Budget))
	last = last || used+each > b.config.Budget
	if last {
		spent = 1
	}
	before := 0.0
	if n := len(b.looks); n > 0 {
		before = b.looks[n-1].Spent
	}
	// Fewer pairs have no answer, and would use up errors all the same: on a slow machine the lab alone takes a fifth.
	if !last && (spent < before+compare.MinShare || pairs < b.config.Compare.LeastPairs()) {
		return nil, false, nil
	}
	b.looks = append(b.looks, compare.Look{Pairs: pairs, Spent: spent})
	if err := b.writePlan(); err != nil {
		return nil, false, err
	}
	base, errBase := compare.Load(filepath.Join(b.dir, Base))
	head, errHead := compare.Load(filepath.Join(b.dir, Head))
	opts := b.config.Compare
	opts.Varied, opts.Paired, opts.Looks = b.config.Varied(), true, b.looks
	r, err := compare.Compare(base, head, opts, errors.Join(errBase, errHead))
	if err != nil {
		return nil, false, err
	}
	return &r, last || r.Verdict != compare.Inconclusive, nil
}
