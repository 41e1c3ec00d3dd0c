package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"locklab/harness"
	"locklab/harness/bench"
	"locklab/harness/check"
	"locklab/harness/scenario"
	"locklab/reports/compare"
)

type benchCmd struct {
	Scenario string `arg:"" optional:"" default:"mutex-latency" help:"Name of a built-in scenario (locklab scenarios list) or a YAML file."`
	Count    int    `default:"16" help:"How many runs each side has; a run is one sample." placeholder:"N"`
	Out      string `help:"Directory for the sides' run directories; default runs/bench-<scenario>-<time>." placeholder:"DIR"`
	// One key: of several, nobody could say which one made the difference.
	Vs       string `sep:"none" help:"What the second side has else: one key of the scenario, such as recipe=naive-mutex." placeholder:"KEY=VALUE" xor:"vs"`
	VsBinary string `name:"vs-binary" help:"The locklab binary that the second side's client processes run, such as that of a pull request." placeholder:"FILE" xor:"vs"`

	comparison
	Threshold []string     `name:"threshold" sep:"none" group:"Keys of the scenario (each is also an environment variable LOCKLAB_…):" help:"A limit on a number of result.json; repeatable; instead of the scenario's thresholds." placeholder:"LIMIT"`
	Keys      kong.Plugins `embed:"" group:"Keys of the scenario (each is also an environment variable LOCKLAB_…):"`
}

// maxCount is beyond what is sensible: it catches slips.
const maxCount = 999

// Run makes the samples and, of two sides, compares them.
func (c *benchCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	p, err := c.plan(ctx)
	if err != nil {
		return err
	}
	dir := c.Out
	if dir == "" {
		dir = harness.DefaultDir("bench-"+p.Base.Name, time.Now())
	}
	if err := harness.CheckDir(dir); err != nil {
		return err
	}
	c.announce(std.Err, p, dir)
	// Of two sides the second is the one to be judged: a base that is broken may be what it mends.
	judged := bench.Base
	if p.Head != nil {
		judged = bench.Head
	}
	var seen tally
	err = bench.Run(ctx, p, dir, harness.Options{Log: log}, func(e bench.Event) {
		if e.Side == judged {
			seen.add(e)
		}
		tellSample(std.Err, e)
	})
	return c.conclude(std, p, dir, seen, err)
}

// A tally is what the samples of a side came to, besides numbers.
type tally struct {
	violations      []string // of warm-ups too
	missed, unknown int      // thresholds were, or something is
}

func (t *tally) add(e bench.Event) {
	switch {
	case e.Outcome.Report.Verdict == check.Fail:
		t.violations = append(t.violations, fmt.Sprintf("%s: %s", e.Name, e.Outcome.Result.Headline))
	case e.WarmUp:
	case e.Outcome.Result.Verdict == check.Unknown:
		t.unknown++
	case e.Outcome.Result.Verdict == check.Fail:
		t.missed++
	}
}

// verdict is what a command ends with that has only these samples.
func (t *tally) verdict() error {
	switch {
	case t.unknown > 0:
		return verdictError{code: exitUnknown}
	case t.missed > 0:
		return verdictError{code: exitThreshold}
	}
	return nil
}

// graver is which of two verdicts a command ends with: unknown, then a regression, then a missed threshold. A comparison that
// could not be made, or saw a violation, is before them all.
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

// plan reads what is to be done, and refuses what cannot be.
func (c *benchCmd) plan(ctx context.Context) (bench.Plan, error) {
	if c.Count < 1 || c.Count > maxCount {
		return bench.Plan{}, &scenario.InputError{Flag: "--count", Msg: fmt.Sprintf("%d is no number of runs", c.Count), Hint: fmt.Sprintf("from 1 to %d; two sides need at least %d, better 16", maxCount, compare.MinRuns)}
	}
	if err := c.comparison.check(); err != nil {
		return bench.Plan{}, err
	}
	base, err := resolve(c.Scenario, c.Keys, c.Threshold)
	if err != nil {
		return bench.Plan{}, err
	}
	p := bench.Plan{Base: base, Count: c.Count}
	switch {
	case c.Vs != "":
		p.Head, err = vary(base, c.Vs)
	case c.VsBinary != "":
		p.Head, p.HeadClients = base.Clone(), c.VsBinary
		err = harness.CheckClients(ctx, "--vs-binary", c.VsBinary)
	}
	return p, err
}

// vary returns the scenario with one key otherwise.
func vary(base *scenario.Scenario, vs string) (*scenario.Scenario, error) {
	key, value, ok := strings.Cut(vs, "=")
	flag := "--vs " + key
	if key = strings.TrimPrefix(strings.TrimSpace(key), "--"); !ok || key == "" {
		return nil, &scenario.InputError{Flag: "--vs", Msg: fmt.Sprintf("%q is no key with a value", vs), Hint: "such as --vs recipe=naive-mutex, or --vs clients=32"}
	}
	if key == "seed" {
		return nil, &scenario.InputError{Flag: flag, Msg: "a seed is no difference", Hint: "each pair of runs has one of its own, drawn from --seed"}
	}
	head, err := base.Vary(flag, key, strings.TrimSpace(value))
	if err != nil {
		return nil, err
	}
	if len(base.Differences(head)) == 0 {
		return nil, &scenario.InputError{Flag: flag, Msg: fmt.Sprintf("the base has %s already", base.Text(key)), Hint: "to see what the same code comes to against itself, use --vs-binary with the same binary"}
	}
	return head, harness.Validate(head)
}

// announce says what is going to happen.
func (c *benchCmd) announce(w io.Writer, p bench.Plan, dir string) {
	for _, warning := range p.Base.Warnings() {
		fmt.Fprintln(w, "warning:", warning)
	}
	what := fmt.Sprintf("%d runs", p.Count)
	if p.Head != nil {
		what = fmt.Sprintf("%d runs a side in turn, the second with ", p.Count)
		if p.HeadClients != "" {
			what += "clients of " + p.HeadClients
		} else {
			what += c.Vs
		}
		if p.Count < compare.MinRuns {
			fmt.Fprintf(w, "warning: fewer than %d runs a side cannot be compared\n", compare.MinRuns)
		}
		if also := p.Varied(); len(also) > 1 {
			fmt.Fprintln(w, "with that differ:", strings.Join(also, ", "))
		}
	}
	fmt.Fprintf(w, "%s: %s; seed %d (it reproduces the plan, not the interleaving); directory %s\n", p.Base.Name, what, p.Base.Seed, dir)
}

// tellSample says what a run came to, and how long the rest will take.
func tellSample(w io.Writer, e bench.Event) {
	r := e.Outcome.Result
	where := fmt.Sprintf("[%d/%d] %s", e.Done, e.Turns, e.Name)
	if e.WarmUp {
		where = e.Name + " (does not count)"
	}
	rate := "n/a"
	if v := r.Throughput.AcquiredPerS; v != nil {
		rate = fmt.Sprintf("%.0f/s", *v)
	}
	left := ""
	if e.Left > 0 {
		left = fmt.Sprintf(", about %s left", e.Left.Round(time.Second))
	}
	fmt.Fprintf(w, "%s: %s, %s, hand-off p50 %s%s\n", where, r.Verdict, rate, span(r.Latency.Handoff.P50Ns), left)
}

// conclude compares the sides, says where everything is and turns that, and what went
// wrong on the way, into the command's end.
func (c *benchCmd) conclude(std streams, p bench.Plan, dir string, seen tally, err error) error {
	base, head := filepath.Join(dir, bench.Base), filepath.Join(dir, bench.Head)
	if _, statErr := os.Stat(base); statErr != nil {
		return err // nothing has been measured
	}
	var verdict error
	if p.Head != nil {
		if _, statErr := os.Stat(head); statErr == nil || err == nil {
			verdict = c.comparison.tell(std, base, head, nil)
		}
		if samples := seen.verdict(); samples != nil {
			fmt.Fprintf(std.Err, "of the second side's %d samples %d are inconclusive and %d missed a threshold\n", p.Count, seen.unknown, seen.missed)
			verdict = graver(verdict, samples)
		}
		fmt.Fprintf(std.Err, "sides in %s and %s; again with: locklab compare %s %s; or: benchstat %s.txt %s.txt\n", base, head, base, head, base, head)
	} else {
		fmt.Fprintf(std.Err, "samples in %s; compare them with others: locklab compare %s OTHER/base; or: benchstat %s.txt\n", base, base, base)
		if verdict = seen.verdict(); verdict != nil {
			fmt.Fprintf(std.Err, "of %d samples %d are inconclusive and %d missed a threshold\n", p.Count, seen.unknown, seen.missed)
		}
	}
	for _, v := range seen.violations {
		fmt.Fprintln(std.Err, "violation:", v)
	}
	v, ok := errors.AsType[verdictError](verdict)
	switch {
	case ok && v.code == exitViolation:
		return verdictError{exitViolation, errors.Join(err, v.err)}
	case len(seen.violations) > 0:
		return verdictError{exitViolation, err}
	case err != nil:
		return err
	}
	return verdict
}
