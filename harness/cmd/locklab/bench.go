package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/console"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/series/bench"
	"locklab/reports/result"
	"locklab/reports/words"
)

type benchCmd struct {
	Scenario string         `arg:"" optional:"" default:"mutex-latency" predictor:"scenario" help:"${scenario_help}"`
	Budget   *time.Duration `placeholder:"5m" xor:"samples" help:"${budget_help}"`
	Count    *int           `placeholder:"N" xor:"samples" help:"${count_help}"`
	Out      string         `predictor:"dir" env:"LOCKLAB_OUT" placeholder:"DIR" help:"${bench_out_help}"`
	// The sides differ in one key. If several differed, nobody could tell which one made the difference.
	Vs       string `sep:"none" placeholder:"KEY=VALUE" xor:"vs" predictor:"key" help:"${vs_help}"`
	VsBinary string `name:"vs-binary" placeholder:"FILE" xor:"vs" predictor:"file" help:"${vs_binary_help}"`

	comparison
	overrides
}

// maxCount is more than anybody needs. It catches slips.
const maxCount = 999

// Run makes the samples and, if there are two sides, compares them.
func (c *benchCmd) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	p, err := c.plan(ctx, std.In)
	if err != nil {
		return err
	}
	if err := c.confirm(p.Base, p.Head); err != nil {
		return err
	}
	for _, sc := range []*scenario.Scenario{p.Base, p.Head} {
		if sc == nil {
			continue
		}
		if err := run.CheckFiles(sc); err != nil {
			return err
		}
	}
	dir := outDir(c.Out, "bench-"+p.Base.Name)
	if err := rundir.CheckDir(dir); err != nil {
		return err
	}
	c.announce(std.Err, p, dir)
	// If there are two sides, only the second is judged, because it may fix a base that is broken.
	judged := bench.Base
	if p.Head != nil {
		judged = bench.Head
	}
	var seen tally
	opts := run.Options{Log: log}
	err = bench.Run(ctx, p, dir, opts, func(e bench.Progress) {
		if e.Side == judged {
			seen.add(e)
		}
		tellSample(std.Err, e)
	})
	return c.conclude(std, p, dir, seen, err)
}

// A tally counts the verdicts of a side's samples.
type tally struct {
	violations      []string // including those of warm-ups
	samples         int
	missed, unknown int // samples that missed a threshold, and inconclusive ones
}

func (t *tally) add(e bench.Progress) {
	if !e.WarmUp {
		t.samples++
	}
	switch {
	case e.Outcome.Report.Verdict == evidence.Fail:
		t.violations = append(t.violations, fmt.Sprintf("%s: %s", e.Name, e.Outcome.Result.Headline))
	case e.WarmUp:
	case e.Outcome.Result.Verdict == evidence.Unknown:
		t.unknown++
	case e.Outcome.Result.Verdict == evidence.Fail:
		t.missed++
	}
}

// verdict is the end of a command that has only these samples.
func (t *tally) verdict() error {
	return ending{unknown: t.unknown > 0, missed: t.missed > 0}.with(nil)
}

// graver returns the verdict that a command ends with: the comparison's or the samples'. Unknown comes
// before a regression, and a regression before a missed threshold. A comparison that could not be made, or that saw a
// violation, comes before them all.
func graver(compared, samples error) error {
	if compared == nil {
		return samples
	}
	a, okA := errors.AsType[verdictError](compared)
	b, okB := errors.AsType[verdictError](samples)
	if okA && okB && a.code == exitRegression && b.code == exitUnknown {
		return samples
	}
	return compared
}

// plan reads what the command is to do, and refuses what cannot be done.
func (c *benchCmd) plan(ctx context.Context, in io.Reader) (bench.Config, error) {
	if err := c.comparison.check(); err != nil {
		return bench.Config{}, err
	}
	if err := c.checkSize(); err != nil {
		return bench.Config{}, err
	}
	base, err := c.resolve(ctx, in, c.Scenario)
	if err != nil {
		return bench.Config{}, err
	}
	p := bench.Config{Base: base, Count: 16, Compare: c.options()}
	switch {
	case c.Count != nil:
		p.Count = *c.Count
	case c.two():
		p.Count, p.Budget = maxCount, 5*time.Minute
		if c.Budget != nil {
			p.Budget = *c.Budget
		}
	}
	switch {
	case c.Vs != "":
		p.Head, err = vary(base, c.Vs)
	case c.VsBinary != "":
		p.Head, p.HeadClients = base.Clone(), c.VsBinary
		err = run.CheckClients(ctx, "--vs-binary", c.VsBinary)
	}
	if err == nil && c.Budget != nil && p.Budget < p.LeastBudget() {
		err = &scenario.InputError{Flag: "--budget", Msg: fmt.Sprintf("in %s, a comparison could never fail", p.Budget),
			Hint: fmt.Sprintf("at least %s; five minutes are usual", p.LeastBudget())}
	}
	return p, err
}

func (c *benchCmd) two() bool { return c.Vs != "" || c.VsBinary != "" }

// checkSize refuses a number of runs that could show nothing.
func (c *benchCmd) checkSize() error {
	if n := c.Count; n != nil {
		least := c.options().LeastRuns()
		switch {
		case *n < 1 || *n > maxCount:
			return scenario.Refuse("--count", fmt.Sprintf("from 1 to %d", maxCount), "%d is not a number of runs", *n)
		case c.two() && *n < least:
			return scenario.Refuse("--count", fmt.Sprintf("at least %d, or a --budget", least),
				"with %s a side, a comparison could never fail", words.Count(int64(*n), "run"))
		}
	}
	switch b := c.Budget; {
	case b == nil:
	case *b <= 0:
		return scenario.Refuse("--budget", "such as 5m", "%s is not a time to measure", *b)
	case !c.two():
		return scenario.Refuse("--budget", "one side alone has a --count",
			"it needs two sides, which --vs and --vs-binary make")
	}
	return nil
}

func vary(base *scenario.Scenario, vs string) (*scenario.Scenario, error) {
	key, value, ok := strings.Cut(vs, "=")
	flag := "--vs " + key
	if key = strings.TrimPrefix(strings.TrimSpace(key), "--"); !ok || key == "" {
		return nil, scenario.Refuse("--vs", "such as --vs recipe=naive-mutex, or --vs clients=32",
			"%q is not a key with a value", vs)
	}
	if key == "seed" {
		return nil, scenario.Refuse(flag, "each pair of runs has one of its own, drawn from --seed",
			"a seed does not make a difference")
	}
	head, err := base.Vary(flag, key, strings.TrimSpace(value))
	if err != nil {
		return nil, err
	}
	if len(base.Differences(head)) == 0 {
		return nil, scenario.Refuse(flag, "to compare the same code with itself, use --vs-binary with the same binary",
			"the base has %s already", base.Text(key))
	}
	return head, result.Validate(head)
}

// announce says what is going to happen.
func (c *benchCmd) announce(w io.Writer, p bench.Config, dir string) {
	for _, warning := range p.Base.Warnings() {
		fmt.Fprintln(w, "warning:", warning)
	}
	what := words.Count(int64(p.Count), "run")
	if p.Head != nil {
		what += " a side in turn, the second with "
		if p.Budget > 0 {
			what = fmt.Sprintf("runs of both sides in turn, for at most %s, the second with ", p.Budget)
		}
		if p.HeadClients != "" {
			what += "clients of " + p.HeadClients
		} else {
			what += c.Vs
		}
		if also := p.Varied(); len(also) > 1 {
			fmt.Fprintln(w, "this also changes:", strings.Join(also, ", "))
		}
	}
	fmt.Fprintf(w, "%s: %s; seed %d (it reproduces the plan, not the interleaving); directory %s\n", p.Base.Name, what,
		p.Base.Seed, dir)
}

// tellSample prints the outcome of a run, and how long the rest will take.
func tellSample(w io.Writer, e bench.Progress) {
	r := e.Outcome.Result
	where := fmt.Sprintf("[%d/%d] %s", e.Done, e.Turns, e.Name)
	about := "about"
	switch {
	case e.WarmUp:
		where = e.Name + " (does not count)"
	case e.Turns == 0:
		where, about = fmt.Sprintf("[%d] %s", e.Done, e.Name), "at most"
	}
	rate := "n/a"
	if v := r.Throughput.AcquiredPerS; v != nil {
		rate = words.Digits3(*v) + "/s"
	}
	left := ""
	if e.Left > 0 {
		left = fmt.Sprintf(", %s %s left", about, e.Left.Round(time.Second))
	}
	fmt.Fprintf(w, "%s: %s, %s, hand-off p50 %s%s\n", where, r.Verdict, rate,
		words.Known(r.Latency.Handoff.P50Ns, words.Duration), left)
	if e.Look != nil {
		fmt.Fprintf(w, "compared so far: %s: %s\n", e.Look.Verdict, e.Look.Reason)
	}
}

// conclude compares the sides, says where their runs are, and returns the error that the command ends with. err is an
// earlier error.
func (c *benchCmd) conclude(std console.Streams, p bench.Config, dir string, seen tally, err error) error {
	base, head := filepath.Join(dir, bench.Base), filepath.Join(dir, bench.Head)
	if _, statErr := os.Stat(base); statErr != nil {
		// Nothing can be compared, but the other side may have been seen to let two clients in.
		return ending{violation: len(seen.violations) > 0}.with(err)
	}
	var verdict error
	if p.Head != nil {
		if _, statErr := os.Stat(head); statErr == nil || err == nil {
			verdict = c.comparison.tell(std, base, head, nil)
		}
		if samples := seen.verdict(); samples != nil {
			fmt.Fprintf(std.Err, "second side: of %d samples, %d are inconclusive and %d missed a threshold\n", seen.samples,
				seen.unknown, seen.missed)
			verdict = graver(verdict, samples)
		}
		fmt.Fprintf(std.Err, "sides in %s and %s; "+
			"compare them again with: locklab compare %s %s; or: benchstat %s.txt %s.txt\n",
			base, head, base, head, base, head)
	} else {
		fmt.Fprintf(std.Err, "samples in %s; compare them with others: locklab compare %s OTHER/base; or: benchstat %s.txt\n",
			base, base, base)
		if verdict = seen.verdict(); verdict != nil {
			fmt.Fprintf(std.Err, "of %d samples, %d are inconclusive and %d missed a threshold\n",
				p.Count, seen.unknown, seen.missed)
		}
	}
	for _, v := range seen.violations {
		fmt.Fprintln(std.Err, "violation:", v)
	}
	v, ok := errors.AsType[verdictError](verdict)
	if ok && v.code == exitViolation {
		return verdictError{exitViolation, errors.Join(err, v.err)}
	}
	return cmp.Or(ending{violation: len(seen.violations) > 0}.with(err), verdict)
}
