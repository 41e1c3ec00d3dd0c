package main

import (
	"errors"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/harness"
	"locklab/harness/check"
	"locklab/harness/scenario"
	"locklab/recipes/curator"
	"locklab/reports"
	"locklab/reports/capacity"
	"locklab/reports/compare"
)

// The exit codes, on which scripts rely.
const (
	exitOK          = 0
	exitHarness     = 1
	exitInput       = 2
	exitViolation   = 3
	exitThreshold   = 4
	exitRegression  = 5
	exitUnknown     = 6
	exitEnvironment = 7
	exitInterrupted = 130
)

const exitHelp = `0 shown what was to be shown, 1 the harness failed, 2 bad input, 3 violation, 4 a threshold was missed, 5 regression, 6 inconclusive, 7 the environment lacks something, 130 interrupted`

// errSaid says that everything there is to say has been printed.
var errSaid = errors.New("said")

// verdictError is the end of a command that came to a result other than success.
type verdictError struct {
	code int
	err  error // what went wrong besides, or nil
}

func (e verdictError) Error() string {
	if e.err == nil {
		return "the run did not come out as expected"
	}
	return e.err.Error()
}

func (e verdictError) Unwrap() error { return e.err }

// codeOf maps an error to its exit code and to what is to be printed of it.
func codeOf(err error) (code int, show error) {
	if v, ok := errors.AsType[verdictError](err); ok {
		return v.code, v.err
	}
	if _, ok := errors.AsType[*scenario.InputError](err); ok {
		return exitInput, err
	}
	for _, m := range []struct {
		sentinel error
		code     int
	}{
		{harness.ErrInterrupted, exitInterrupted},
		{harness.ErrDirInUse, exitInput}, {harness.ErrNoRun, exitInput}, {harness.ErrNoSweep, exitInput}, {reports.ErrQuestion, exitInput}, {capacity.ErrTooFar, exitUnknown}, {compare.ErrInput, exitInput},
		{ensembles.ErrNoEngine, exitEnvironment}, {ensembles.ErrNoImage, exitEnvironment}, {ensembles.ErrMissingTool, exitEnvironment},
		{harness.ErrUnsupportedLab, exitEnvironment}, {curator.ErrMissing, exitEnvironment},
		{chaos.ErrUnsupported, exitEnvironment}, // found beforehand: during a run it makes the verdict unknown
	} {
		if errors.Is(err, m.sentinel) {
			return m.code, err
		}
	}
	return exitHarness, err
}

// conclude turns an outcome, and what went wrong on the way to it, into the
// command's end. A violation counts more than anything else: it was seen.
func conclude(out harness.Outcome, err error) error {
	if out.Dir == "" {
		return err
	}
	switch {
	case out.Report.Verdict == check.Fail:
		return verdictError{exitViolation, err}
	case err != nil:
		return err
	case out.Interrupted:
		return verdictError{code: exitInterrupted}
	case out.Result.Verdict == check.Unknown:
		return verdictError{code: exitUnknown}
	case out.Result.Verdict == check.Fail: // though no check did
		return verdictError{code: exitThreshold}
	}
	return nil
}
