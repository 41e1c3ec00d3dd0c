package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"locklab/harness/check"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/series"
	"locklab/harness/settings"
	"locklab/recipes/broken"
	"locklab/reports/index"
	"locklab/reports/words"
	"locklab/workloads/lock"
)

type reproCmd struct {
	Name     string `arg:"" optional:"" predictor:"bug" help:"${repro_name_help}"`
	All      bool   `help:"Make each bug show, in labs that they share, and print how many were caught."`
	Attempts int    `default:"3" help:"Runs in which the bug may show, each with another seed."`
	Out      string `predictor:"dir" env:"LOCKLAB_OUT" placeholder:"DIR" help:"${repro_out_help}"`
	JSON     bool   `name:"json" help:"Print the bugs, or what was found, as JSON."`
}

// Run lists the known bugs, or makes one or all of them show.
func (c *reproCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	switch {
	case c.Attempts < 1:
		return &scenario.InputError{Flag: "--attempts", Msg: fmt.Sprintf("%d runs", c.Attempts), Hint: "1 or more"}
	case c.All && c.Name != "":
		return &scenario.InputError{Msg: "--all and the name " + settings.Quote(c.Name), Hint: "give one of them"}
	case !c.All && c.Name == "":
		return listBugs(std.Out, c.JSON)
	}
	all, err := c.chosen()
	if err != nil {
		return err
	}
	dir := outDir(c.Out, strings.TrimSuffix("repro-"+c.Name, "-"))
	if err := rundir.CheckDir(dir); err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "run directories in %s\n", dir)
	opts, end := following(std.Err, log)
	labs := series.Labs{Options: opts}
	begun := time.Now()
	done := []series.Reproduction{}
	var errs []error
	for _, bug := range all {
		one, err := labs.Reproduce(ctx, bug, filepath.Join(dir, bug.Name), c.Attempts)
		end()
		switch {
		case err == nil:
			done = append(done, one)
		case ctx.Err() != nil:
			return errors.Join(err, labs.Close())
		default: // the other bugs may need nothing of what failed
			errs = append(errs, fmt.Errorf("%s: %w", bug.Name, err))
		}
		if c.All && !c.JSON && err == nil {
			fmt.Fprintln(std.Out, inOneLine(one))
		}
	}
	err = errors.Join(append(errs, labs.Close(), index.Update(dir, "Known bugs"))...)
	switch {
	case c.JSON:
		err = errors.Join(err, printReproductionsJSON(std.Out, done))
	case c.All:
		fmt.Fprintf(std.Out, "caught %d of %d known bugs in %s\n", caught(done), len(all),
			time.Since(begun).Round(time.Second))
	case len(done) > 0:
		printReproduction(std.Out, done[0])
	}
	return reproEnding(done, err)
}

// chosen returns the bugs to make show.
func (c *reproCmd) chosen() ([]broken.Lock, error) {
	if c.All {
		return series.ByLab()
	}
	name := strings.TrimPrefix(c.Name, lock.ControlPrefix) // the recipe's name means the same
	bug, ok := broken.Find(name)
	switch {
	case !ok:
		return nil, &scenario.InputError{Msg: "unknown bug " + settings.Quote(c.Name),
			Hint: settings.DidYouMean(name, bugNames())}
	case !bug.Shown():
		return nil, &scenario.InputError{Msg: settings.Quote(name) + " breaks no promise, so no single run can show it",
			Hint: "compare it with the sound lock: locklab bench --vs recipe=" + lock.ControlPrefix + name}
	}
	return []broken.Lock{bug}, nil
}

func bugNames() (names []string) {
	for _, bug := range broken.Known() {
		names = append(names, bug.Name)
	}
	return names
}

// reproEnding returns the error that the command ends with. err is what went wrong on the way.
func reproEnding(done []series.Reproduction, err error) error {
	return ending{unknown: caught(done) < len(done)}.with(err)
}

func caught(done []series.Reproduction) (n int) {
	for _, r := range done {
		if r.Finding != nil {
			n++
		}
	}
	return n
}

// A listedBug is an element of what repro --json prints.
type listedBug struct {
	Name    string   `json:"name"`
	Recipe  string   `json:"recipe"`
	Bug     string   `json:"bug"`
	Source  string   `json:"source"`
	Trigger string   `json:"trigger"`
	Check   string   `json:"check"`
	Kinds   []string `json:"kinds"` // of finding; empty = no single run can show the bug
}

func listed(bug broken.Lock) listedBug {
	return listedBug{bug.Name, lock.Of(bug), bug.Bug, bug.Source, bug.Trigger,
		string(bug.Check), append([]string{}, bug.Kinds...)}
}

// listBugs prints the known bugs.
func listBugs(w io.Writer, asJSON bool) error {
	list := []listedBug{}
	for _, bug := range broken.Known() {
		list = append(list, listed(bug))
	}
	if asJSON {
		return printJSON(w, list)
	}
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "bug\trecipe\tcaught by\twhat is broken")
	for _, b := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", b.Name, b.Recipe, b.Check, b.Bug)
	}
	return t.Flush()
}

// A reproduced is an element of what repro NAME --json and repro --all --json print.
type reproduced struct {
	listedBug
	Caught   bool           `json:"caught"`
	Attempts int            `json:"attempts"`
	Finding  *check.Finding `json:"finding"` // null if the bug was not caught
	Dir      string         `json:"dir"`     // of the last attempt
	Report   string         `json:"report"`
	Timeline string         `json:"timeline"`
}

func printReproductionsJSON(w io.Writer, done []series.Reproduction) error {
	list := []reproduced{}
	for _, r := range done {
		dir := r.Outcome.Dir
		list = append(list, reproduced{listed(r.Bug), r.Finding != nil, r.Attempts, r.Finding, dir, rundir.ReportPath(dir),
			rundir.TimelinePath(dir)})
	}
	return printJSON(w, list)
}

// printReproduction prints what came of one bug for a person.
func printReproduction(w io.Writer, r series.Reproduction) {
	fmt.Fprintf(w, "%s: %s\n", r.Bug.Name, r.Bug.Bug)
	if r.Finding == nil {
		v := r.Outcome.Report.Check(string(r.Bug.Check))
		fmt.Fprintf(w, "not shown in %s; in the last, %s: %s: %s\n", attempts(r), v.Name, v.Result, v.Summary)
	} else {
		fmt.Fprintf(w, "caught by %s in %s: %s\n", r.Bug.Check, attempts(r), r.Finding.Text)
		if z := r.Finding.Zxids; len(z) > 0 {
			fmt.Fprintf(w, "zxids: %s\n", strings.Join(z, ", "))
		}
	}
	fmt.Fprintf(w, "timeline: %s\nreport: %s\n", rundir.TimelinePath(r.Outcome.Dir), rundir.ReportPath(r.Outcome.Dir))
}

// inOneLine describes what came of one bug.
func inOneLine(r series.Reproduction) string {
	if r.Finding == nil {
		return fmt.Sprintf("%s: not shown in %s; %s", r.Bug.Name, attempts(r), rundir.ReportPath(r.Outcome.Dir))
	}
	return fmt.Sprintf("%s: caught by %s (%s) in %s; %s", r.Bug.Name, r.Bug.Check, r.Finding.Kind, attempts(r),
		rundir.ReportPath(r.Outcome.Dir))
}

func attempts(r series.Reproduction) string {
	return words.Count(int64(r.Attempts), "attempt")
}
