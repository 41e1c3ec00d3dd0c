package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"strconv"

	"locklab/ensembles/debian"
	"locklab/ensembles/docker"
	"locklab/harness/console"
	"locklab/harness/judge"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/harness/secondopinion"
	"locklab/harness/series"
	"locklab/harness/untrusted"
	"locklab/reports/index"
)

type checkCmd struct {
	Dir           string `arg:"" predictor:"dir" help:"Run directory."`
	JSON          bool   `name:"json" help:"Print result.json instead of a summary."`
	DryRun        bool   `help:"Write nothing into the directory, as if it were read-only."`
	SecondOpinion bool   `help:"Ask Porcupine the same questions as well. The exit code is 1 if it disagrees."`
}

// Run judges an old run. It replaces all derived files, or none where it must not write. If it fails, none is left.
func (c *checkCmd) Run(std console.Streams) error {
	write := !c.DryRun && rundir.Writable(c.Dir)
	if err := checkRunDir("check", c.Dir); err != nil {
		if write && rundir.Recorded(c.Dir) {
			err = errors.Join(err, rundir.Discard(c.Dir))
		}
		return err
	}
	// A long run's history fills the memory, and most of it stays until the end.
	debug.SetGCPercent(checkGCPercent)
	out, opinions, err := c.judge(write)
	end := tell(std, out, c.JSON, err)
	if err != nil || !c.SecondOpinion {
		return end
	}
	to := std.Out
	if c.JSON {
		to = std.Err
	}
	// Where the judges disagree, the verdict is worth nothing and does not decide about the exit code.
	if err := tellOpinions(to, opinions); err != nil {
		return verdictError{exitHarness, err}
	}
	return end
}

// checkGCPercent is how much garbage there may be, in percent of the memory in use, before it is collected. It is less
// than Go's own 100, because most of what a check reads is in use until its end, and twice of that may not be there.
const checkGCPercent = 40

func (c *checkCmd) judge(write bool) (out judge.Outcome, opinions []secondopinion.Opinion, err error) {
	switch {
	case c.SecondOpinion:
		return judge.SecondOpinion(c.Dir, write)
	case write:
		out, err = judge.Conclude(c.Dir)
	default:
		out, err = judge.Judge(c.Dir)
	}
	return out, nil, err
}

// errDisagree says that the sweep and Porcupine give different answers.
var errDisagree = errors.New("the two judges disagree, so one of them is wrong; please report this run")

// tellOpinions prints what both judges say of a run. It returns an error if they disagree.
func tellOpinions(w io.Writer, all []secondopinion.Opinion) error {
	none, disagree := 0, false
	for _, o := range all {
		fmt.Fprintln(w, o)
		disagree = disagree || o.Disagree()
		if o.Second == secondopinion.None {
			none++
		}
	}
	fmt.Fprintf(w, "Porcupine has an opinion on %d of %d questions.\n", len(all)-none, len(all))
	if disagree {
		return errDisagree
	}
	return nil
}

type imageCmd struct {
	Versions []string `arg:"" optional:"" help:"${versions_help}"`
	NoBuild  bool     `help:"Build nothing. Print \"build\" if an image would have to be built."`
	Unpack   bool     `help:"Get the jars of these versions for labs without containers, and print their directories."`
}

// Run makes sure that there is an image, or that there are several.
func (c *imageCmd) Run(ctx context.Context, std console.Streams, log *slog.Logger) error {
	if len(c.Versions) > 0 {
		return c.versions(ctx, std, log)
	}
	if c.Unpack {
		return &scenario.InputError{Flag: "--unpack", Msg: "it needs a version", Hint: debian.Numbers() + ", all"}
	}
	ref, err := docker.EnsureImage(ctx, !c.NoBuild, log)
	if c.NoBuild && errors.Is(err, docker.ErrNoImage) {
		ref, err = "build", nil
	}
	if err == nil {
		fmt.Fprintln(std.Out, ref)
	}
	return err
}

// versions makes sure that there are the images, or the jars, of all versions that were named. With "all", a version
// that cannot be had is told, and is no failure.
func (c *imageCmd) versions(ctx context.Context, std console.Streams, log *slog.Logger) error {
	if c.NoBuild {
		return &scenario.InputError{Flag: "--no-build", Msg: "it is for the image that labs use",
			Hint: "leave out the versions"}
	}
	var all []debian.Version
	every := false
	for _, number := range c.Versions {
		v, ok := debian.Find(number)
		switch {
		case number == "all":
			every, all = true, debian.Versions
		case !ok:
			return &scenario.InputError{Flag: "image", Msg: strconv.Quote(number) + " cannot be had",
				Hint: debian.Numbers() + ", all"}
		case !every:
			all = append(all, v)
		}
	}
	var failed error
	for _, v := range all {
		var place string
		var err error
		if c.Unpack {
			place, err = v.Unpack(ctx)
		} else {
			place, err = docker.EnsureVersion(ctx, v, log)
		}
		switch {
		case err == nil:
			fmt.Fprintln(std.Out, place)
		case every && errors.Is(err, debian.ErrUnavailable):
			log.Warn("a version is left out", "why", err)
		default:
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// checkRunDir refuses a directory without a run, and then one whose files are not what they should be. A directory
// without a run may have anything in it, about which nobody asked.
func checkRunDir(command, dir string) error {
	err := rundir.RequireRun(dir)
	switch {
	case errors.Is(err, rundir.ErrNoRun):
		return fmt.Errorf("%s %s: %w%s", command, dir, err, holdsInstead(dir))
	case err == nil && !rundir.Recorded(dir):
		err = fmt.Errorf("%w: %s has a %s, and nothing that a run of it recorded", rundir.ErrNoRun, dir, rundir.ScenarioFile)
	case err == nil:
		err = untrusted.CheckDir(dir)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", command, dir, err)
	}
	return nil
}

// checkSeriesDir is checkRunDir for the directory of a sweep or a danger measurement. has says whether it has one.
func checkSeriesDir(command, dir string, has func(string) bool, none error) error {
	err := rundir.RequireDir(dir)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w: %w", command, none, err)
	case !has(dir):
		return fmt.Errorf("%s: %w in %s%s", command, none, dir, holdsInstead(dir))
	}
	if err := untrusted.CheckDir(dir); err != nil {
		return fmt.Errorf("%s %s: %w", command, dir, err)
	}
	return nil
}

// begin makes the directory of a plan, or goes on there, and keeps other processes away until release is called.
func begin(plan interface{ Begin(dir string) error }, dir string) (release func(), err error) {
	if err := plan.Begin(dir); err != nil {
		return nil, err
	}
	return rundir.OccupyPlan(dir)
}

// holdsInstead is the end of a message about a directory that does not hold what a command needs: what it holds, and
// which commands are for that.
func holdsInstead(dir string) string {
	switch {
	case rundir.IsRun(dir):
		return "; it holds a run, which locklab check and locklab report read"
	case series.IsSweep(dir):
		return "; it holds a sweep, which locklab plan and locklab report read"
	case series.IsDanger(dir):
		return "; it holds a danger measurement, which locklab report reads"
	case index.Has(dir):
		return "; it is a folder of runs, of which locklab report makes an index"
	}
	return ""
}
