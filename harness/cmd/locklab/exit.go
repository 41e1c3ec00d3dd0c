package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"locklab/harness/check/evidence"
	"locklab/harness/console"
	"locklab/harness/fail"
	"locklab/harness/incluster"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/recipes/curator"
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

// everyCode lists the exit codes.
var everyCode = []int{
	exitHarness, exitInput, exitViolation, exitThreshold, exitRegression, exitUnknown, exitEnvironment, exitInterrupted,
}

// exitMeanings says what each exit code means, whichever command ends with it.
var exitMeanings = map[int]string{
	exitOK:          "the run showed what it was meant to show",
	exitHarness:     "locklab itself failed",
	exitInput:       "bad usage or bad input; the message names the flag, or file, line and column",
	exitViolation:   "a violation that the scenario does not expect",
	exitThreshold:   "a threshold was missed",
	exitRegression:  "a regression",
	exitUnknown:     "inconclusive",
	exitEnvironment: "this machine lacks something; the message says what, and how to get it",
	exitInterrupted: "interrupted",
}

// An exitCodes says how a command can end besides with the codes that every command can end with.
type exitCodes struct {
	success string // what 0 means; "" = as for a run
	codes   []int
	note    string // what codes mean besides
}

// exitsOf has the commands that people give, by their names.
var exitsOf = map[string]exitCodes{
	"advise":     {success: "a timeout is recommended", codes: []int{exitUnknown}},
	"bench":      {"the second side is not worse; of one side: every run passed", append(badRuns, exitRegression), ""},
	"check":      {success: goodRun, codes: []int{exitViolation, exitThreshold, exitUnknown}},
	"clean":      {success: "nothing is left", codes: []int{exitEnvironment}},
	"compare":    {success: "the candidate is not worse", codes: []int{exitViolation, exitRegression, exitUnknown}},
	"completion": {success: "the code was printed"},
	"danger":     {"every point is done, or the budget is used up", []int{exitViolation, exitEnvironment}, ""},
	"demo":       {"each act showed what it set out to show", []int{exitViolation, exitUnknown, exitEnvironment}, ""},
	"doctor":     {success: "this machine can run scenarios", codes: []int{exitEnvironment}},
	"driver check": {"nothing is wrong; what has a note works, and could say more",
		[]int{exitViolation, exitEnvironment}, "3 means that a case is wrong.\n"},
	"export":        {success: "the run was printed, whatever its verdict is"},
	"image":         {success: "there is an image, and its name was printed", codes: []int{exitEnvironment}},
	"init driver":   {success: "the file was written"},
	"init gate":     {success: "the files were written"},
	"init scenario": {success: "the file was written"},
	"inspect": {"the lock moves, is busy or is empty, and so are all locks below a directory",
		[]int{exitViolation, exitUnknown, exitEnvironment},
		"3 means orphaned, blocked or deadlocked; 6 means that the verdict is not known.\n"},
	"plan":   {success: "the sweep answers the question", codes: []int{exitUnknown}},
	"report": {success: "the report was drawn, whatever its verdict is"},
	"repro": {"each bug was caught by the check that must catch it, or the list was printed",
		[]int{exitUnknown, exitEnvironment}, ""},
	"run":              {goodRun, badRuns, ""},
	"scenarios list":   {success: "the list was printed"},
	"scenarios schema": {success: "the schema was printed"},
	"scenarios show":   {success: "the scenario was printed"},
	"serve":            {success: "the server was stopped by Ctrl-C or SIGTERM"},
	"simulate":         {"no run showed anything that should not be", []int{exitViolation, exitUnknown}, ""},
	"sweep":            {"no run saw a violation, none is inconclusive, and every threshold was met", badRuns, ""},
}

// goodRun is what 0 means of a run, and badRuns are the codes of others.
const goodRun = "every check came out as the scenario expects, and every threshold was met"

var badRuns = []int{exitViolation, exitThreshold, exitUnknown, exitEnvironment}

// String is the part of a command's help that lists the exit codes it can end with. Every command can end with 0, 1, 2
// and 130.
func (e exitCodes) String() string {
	codes := append([]int{exitHarness, exitInput, exitInterrupted}, e.codes...)
	slices.Sort(codes)
	codes = slices.Compact(codes)
	var b strings.Builder
	fmt.Fprintf(&b, "Exit codes:\n  %3d  %s\n", exitOK, cmp.Or(e.success, exitMeanings[exitOK]))
	for _, code := range codes {
		fmt.Fprintf(&b, "  %3d  %s\n", code, exitMeanings[code])
	}
	var several []string
	for _, code := range gravest {
		if slices.Contains(codes, code) {
			several = append(several, strconv.Itoa(code))
		}
	}
	if len(several) > 1 {
		fmt.Fprintf(&b, "Where several apply, the first of %s counts.\n", strings.Join(several, ", "))
	}
	return b.String() + e.note
}

// gravest orders the codes of which several can apply to one run. The first one counts.
var gravest = []int{exitViolation, exitInterrupted, exitUnknown, exitRegression, exitThreshold}

// errSaid means that the command has already printed its error.
var errSaid = errors.New("said")

// A verdictError ends a command that has a result, which is not success.
type verdictError struct {
	code int
	err  error // an error besides the verdict, or nil
}

func (e verdictError) Error() string {
	if e.err == nil {
		return "the run did not come out as expected"
	}
	return e.err.Error()
}

func (e verdictError) Unwrap() error { return e.err }

// codesOfClasses are the exit codes of classes of errors. The first one that an error has counts. What the machine
// lacks is such an error only before a run begins: during a run it makes the verdict unknown.
var codesOfClasses = [...]struct {
	class error
	code  int
}{{fail.Interrupted, exitInterrupted}, {fail.Input, exitInput}, {fail.Violation, exitViolation},
	{fail.Unknown, exitUnknown}, {fail.Environment, exitEnvironment}}

// machineErrors say what the machine lacks, also while something is recorded or drawn. Package curator is of the
// library, which knows no classes.
var machineErrors = []error{curator.ErrMissing, syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE,
	syscall.ENFILE, syscall.ENOMEM}

// codeOf returns the exit code of an error, and the error to print or nil.
func codeOf(err error) (code int, show error) {
	if v, ok := errors.AsType[verdictError](err); ok {
		return v.code, v.err
	}
	if f, ok := errors.AsType[*incluster.Failure](err); ok && slices.Contains(everyCode, f.Code) {
		return f.Code, err
	}
	for _, c := range codesOfClasses {
		if errors.Is(err, c.class) {
			return c.code, err
		}
	}
	if slices.ContainsFunc(machineErrors, func(lack error) bool { return errors.Is(err, lack) }) {
		return exitEnvironment, err
	}
	return exitHarness, err
}

// An ending is what runs came to, as far as it decides how a command ends: the first field that is set counts.
type ending struct{ violation, interrupted, unknown, missed bool }

// add takes in the outcome of a run.
func (e *ending) add(out judge.Outcome) {
	switch {
	case out.Report.Verdict == evidence.Fail:
		e.violation = true
	case out.Interrupted:
		e.interrupted = true
	case out.Result.Verdict == evidence.Unknown:
		e.unknown = true
	case out.Result.Verdict == evidence.Fail: // no check failed, so a threshold was missed
		e.missed = true
	}
}

// with returns the error that a command ends with. err is what went wrong on the way. A violation counts more than
// anything else, because it was seen.
func (e ending) with(err error) error {
	switch {
	case e.violation:
		return verdictError{exitViolation, err}
	case err != nil:
		return err
	case e.interrupted:
		return verdictError{code: exitInterrupted}
	case e.unknown:
		return verdictError{code: exitUnknown}
	case e.missed:
		return verdictError{code: exitThreshold}
	}
	return nil
}

// conclude returns the error that a command ends with, from the outcome of its run and what went wrong on the way to
// it.
func conclude(out judge.Outcome, err error) error {
	if out.Dir == "" {
		return err
	}
	var e ending
	e.add(out)
	return e.with(err)
}

// tell prints the outcome of a run, and returns the error that the command ends with. err is what went wrong during the
// run.
func tell(std console.Streams, out judge.Outcome, asJSON bool, err error) error {
	if out.Dir != "" {
		if printErr := console.PrintOutcome(std, out, asJSON); printErr != nil {
			err = errors.Join(err, printErr)
		}
	}
	return conclude(out, err)
}

// interruptible returns a context that the first SIGINT or SIGTERM cancels. The second ends the process at
// once; the agents' leases then remove what is left of a lab.
func interruptible() (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel(run.ErrInterrupted)
		<-signals
		os.Exit(exitInterrupted)
	}()
	return ctx, func() { cancel(nil) }
}

// untilInterrupted runs a command. A command that takes a context ends by itself when the context is cancelled, and
// puts right first what it changed. Others read files and draw, so nothing is lost if they are left at once.
func untilInterrupted(ctx context.Context, selected *kong.Node, command func() error) error {
	if takesContext(selected) {
		return command()
	}
	type end struct {
		err   error
		panic any
	}
	done := make(chan end, 1)
	go func() {
		var e end
		defer func() {
			switch r := recover().(type) {
			case nil, exit:
				e.panic = r
			default:
				e.panic = defectOf(r)
			}
			done <- e
		}()
		e.err = command()
	}()
	select {
	case e := <-done:
		if e.panic != nil {
			panic(e.panic)
		}
		return e.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// takesContext reports whether the command's Run has a context.
func takesContext(selected *kong.Node) bool {
	method := selected.Target.Addr().MethodByName("Run").Type()
	for in := range method.Ins() {
		if in == reflect.TypeFor[context.Context]() {
			return true
		}
	}
	return false
}
