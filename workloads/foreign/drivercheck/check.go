package drivercheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"locklab/ensembles/remote"
	"locklab/workloads/foreign"
)

// A Config says what to try.
type Config struct {
	// Argv is the command and its arguments.
	Argv []string
	// Stderr gets what the command writes to its standard error; nil = it is dropped.
	Stderr io.Writer
	// Connect is the way to the ensemble on which the command is tried; nil = a service in memory. The cases work below a
	// znode that they make and remove.
	Connect *remote.Access

	patience time.Duration // for answers that need the servers; 0 = 15 s
	_        struct{}      // no positional literals
}

// An Outcome says how a case came out.
type Outcome string

// The outcomes, from good to bad.
const (
	OK      Outcome = "ok"
	Skipped Outcome = "left out"
	Note    Outcome = "note" // it works, and something is worth knowing
	Wrong   Outcome = "wrong"
)

// A Result is how one case came out.
type Result struct {
	Case    string
	Outcome Outcome
	// Text says what was seen and, of what is wrong, what is due.
	Text string
}

func ok(format string, args ...any) Result {
	return Result{Outcome: OK, Text: fmt.Sprintf(format, args...)}
}
func skipped(format string, args ...any) Result {
	return Result{Outcome: Skipped, Text: fmt.Sprintf(format, args...)}
}
func note(format string, args ...any) Result {
	return Result{Outcome: Note, Text: fmt.Sprintf(format, args...)}
}
func wrong(format string, args ...any) Result {
	return Result{Outcome: Wrong, Text: fmt.Sprintf(format, args...)}
}

// A check is one case. Its text is what it asks.
type check struct {
	name string
	// service says that the case needs the command's sessions at the servers that it is told.
	service bool
	try     func(*trial) Result
}

// checks are the cases in their order. Nothing else is tried if the first one is wrong.
var checks = []check{
	{"open", false, opens},
	{"acquire", false, acquires},
	{"exclude", false, excludes},
	{"hand over", false, handsOver},
	{"cancel", false, cancels},
	{"try", false, tries},
	{"two locks", false, twoLocks},
	{"close", false, closes},
	{"pings", false, pings},
	{"modes", false, modes},
	{"connection lost", true, losesConnection},
	{"session lost", true, losesSession},
	{"session lost while waiting", true, losesSessionWaiting},
}

// Run tries all cases and hands each result to show. An error says that ctx ended, or that the service could not be
// started, or wraps [remote.ErrUnusable].
func Run(ctx context.Context, cfg Config, show func(Result)) error {
	if cfg.patience == 0 {
		cfg.patience = 15 * time.Second
	}
	elsewhere, mode := false, ""
	for i, c := range checks {
		if c.service && elsewhere {
			r := skipped("the command makes no session at the servers that it is told")
			r.Case = c.name
			show(r)
			continue
		}
		t, err := newTrial(ctx, cfg)
		if err != nil {
			return err
		}
		t.mode = mode
		r := c.run(t)
		elsewhere, mode = elsewhere || t.elsewhere, t.mode
		t.end()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.Case = c.name
		show(r)
		if i == 0 && r.Outcome == Wrong {
			return nil
		}
	}
	return nil
}

// run tries the case.
func (c check) run(t *trial) (r Result) {
	defer func() {
		switch v := recover().(type) {
		case nil:
		case over:
			r = Result(v)
		default:
			panic(v)
		}
	}()
	return c.try(t)
}

// An over is what a case panics with that ends early, as a test does by FailNow.
type over Result

// stop ends the case.
func stop(r Result) { panic(over(r)) }

// due ends the case if the command answered with an error. what says what was due.
func due(err error, what string) {
	if err != nil {
		stop(unexpected(err, what))
	}
}

// unexpected says what an error of the command means, if what was due is something else.
func unexpected(err error, due string) Result {
	if errors.Is(err, foreign.ErrBroken) {
		return wrong("%v", err) // it names the line and what was expected
	}
	return wrong("%v; due is %s", err, due)
}
