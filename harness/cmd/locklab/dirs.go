package main

import (
	"errors"
	"fmt"

	"locklab/harness/rundir"
	"locklab/harness/series"
	"locklab/harness/untrusted"
	"locklab/reports/index"
)

// checkRunDir refuses a directory without a run, and then one whose files are not what they should be. A directory
// without a run may have anything in it, about which nobody asked.
func checkRunDir(command, dir string) error {
	err := rundir.RequireRun(dir)
	switch {
	case errors.Is(err, rundir.ErrNoRun):
		return fmt.Errorf("%s %s: %w%s", command, dir, err, holdsInstead(dir))
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
