package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/harness/check/evidence"
	"locklab/harness/console"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/series"
	"locklab/harness/settings"
	"locklab/recipes/broken"
	"locklab/reports/index"
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
func (c *reproCmd) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
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
	opts, end := console.Following(std.Err, log)
	labs := series.Labs{Options: opts}
	begun := time.Now()
	done := []series.Reproduction{}
	var errs []error
	for _, bug := range all {
		attempts := c.Attempts
		if c.All && bug.Seldom {
			attempts = 1 // more of them would take longer than all the others together
		}
		one, err := labs.Reproduce(ctx, bug, filepath.Join(dir, bug.Name), attempts)
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
			errs = append(errs, console.PrintTable(std.Out, console.BugInOneLine, one))
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
		err = errors.Join(err, console.PrintTable(std.Out, console.Bug, done[0]))
	}
	return c.ending(done, err)
}

// ending joins err and what is missing. Among all bugs, one that shows seldom does not have to show.
func (c *reproCmd) ending(done []series.Reproduction, err error) error {
	missing := slices.ContainsFunc(done, func(r series.Reproduction) bool {
		return r.Finding == nil && !(c.All && r.Bug.Seldom)
	})
	return ending{unknown: missing}.with(err)
}

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

func listBugs(w io.Writer, asJSON bool) error {
	list := []listedBug{}
	for _, bug := range broken.Known() {
		list = append(list, listed(bug))
	}
	if asJSON {
		return console.PrintJSON(w, list)
	}
	return console.PrintTable(w, console.Bugs, list)
}

// A reproduced is an element of what repro NAME --json and repro --all --json print.
type reproduced struct {
	listedBug
	Caught   bool              `json:"caught"`
	Attempts int               `json:"attempts"`
	Finding  *evidence.Finding `json:"finding"` // null if the bug was not caught
	Dir      string            `json:"dir"`     // of the last attempt
	Report   string            `json:"report"`
	Timeline string            `json:"timeline"`
}

func printReproductionsJSON(w io.Writer, done []series.Reproduction) error {
	list := []reproduced{}
	for _, r := range done {
		dir := r.Outcome.Dir
		list = append(list, reproduced{listed(r.Bug), r.Finding != nil, r.Attempts, r.Finding, dir, rundir.ReportPath(dir),
			rundir.TimelinePath(dir)})
	}
	return console.PrintJSON(w, list)
}
