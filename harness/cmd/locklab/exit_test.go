package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"locklab/chaos"
	"locklab/ensembles"
	"locklab/ensembles/docker"
	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/console"
	"locklab/harness/judge"
	"locklab/harness/run"
	"locklab/harness/rundir"
	"locklab/harness/scenario"
	"locklab/reports/compare"
	"locklab/reports/result"
)

func outcome(verdict evidence.Result, interrupted bool) judge.Outcome {
	return judge.Outcome{
		Dir:         "run",
		Result:      result.Result{Verdict: verdict, Partial: interrupted},
		Report:      check.Report{Verdict: verdict},
		Interrupted: interrupted,
	}
}

// missed is a run that missed a threshold although its checks passed, as far as they could judge.
func missed(interrupted bool) judge.Outcome {
	out := outcome(evidence.Pass, interrupted)
	out.Result.Verdict = evidence.Fail
	return out
}

// Where several codes apply, the first of 3, 130, 6, 4 is used. An error of the harness is 1 unless a violation was
// seen. Every code is the end of something.
func TestExitCodes(t *testing.T) {
	broken := errors.New("broken")
	wrapped := func(err error) error { return fmt.Errorf("somewhere: %w", errors.Join(errors.New("and"), err)) }
	slower := verdictError{code: codeOfVerdict(compare.Regressed)}
	reached := map[int]bool{}
	for _, c := range []struct {
		name string
		out  judge.Outcome
		err  error
		want int
	}{
		{"slower", judge.Outcome{}, slower, exitRegression},
		{"pass", outcome(evidence.Pass, false), nil, exitOK},
		{"violation", outcome(evidence.Fail, false), nil, exitViolation},
		{"violation, then interrupted", outcome(evidence.Fail, true), wrapped(run.ErrInterrupted), exitViolation},
		{"violation, then broken", outcome(evidence.Fail, false), broken, exitViolation},
		{"unknown", outcome(evidence.Unknown, false), nil, exitUnknown},
		{"unknown and interrupted", outcome(evidence.Unknown, true), wrapped(run.ErrInterrupted), exitInterrupted},
		{"an interrupted run, checked later", outcome(evidence.Unknown, true), nil, exitInterrupted},
		{"threshold missed", missed(false), nil, exitThreshold},
		{"threshold missed and interrupted", missed(true), nil, exitInterrupted},
		{"threshold missed, then broken", missed(false), broken, exitHarness},
		{"pass, but the lab did not come down", outcome(evidence.Pass, false), broken, exitHarness},
		{"interrupted before anything was recorded", judge.Outcome{}, wrapped(run.ErrInterrupted), exitInterrupted},
		{"a fault that is known not to be supported", judge.Outcome{}, wrapped(chaos.ErrUnsupported), exitEnvironment},
		{"no engine", judge.Outcome{}, wrapped(docker.ErrNoEngine), exitEnvironment},
		{"no image", judge.Outcome{}, wrapped(docker.ErrNoImage), exitEnvironment},
		{"an ensemble that does not form", judge.Outcome{}, wrapped(ensembles.ErrNotFormed), exitEnvironment},
		{"an engine that does not answer in time", judge.Outcome{}, wrapped(ensembles.ErrTooSlow), exitEnvironment},
		{"no space", outcome(evidence.Unknown, false), wrapped(&fs.PathError{Op: "write", Err: syscall.ENOSPC}),
			exitEnvironment},
		{"the lock's calls do not return", outcome(evidence.Unknown, false), wrapped(run.ErrBrokeOff), exitUnknown},
		{"directory in use", judge.Outcome{}, wrapped(rundir.ErrDirInUse), exitInput},
		{"no run", judge.Outcome{}, wrapped(rundir.ErrNoRun), exitInput},
		{"bad input", judge.Outcome{}, wrapped(&scenario.InputError{Msg: "bad"}), exitInput},
		{"anything else", judge.Outcome{}, broken, exitHarness},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := exitOK
			if err := conclude(c.out, c.err); err != nil {
				got, _ = codeOf(err)
			}
			if got != c.want {
				t.Errorf("exit code %d, want %d", got, c.want)
			}
			reached[got] = true
		})
	}
	for code := range exitMeanings {
		if !reached[code] {
			t.Errorf("nothing ends with %d", code)
		}
	}
}

// An error is still printed if there is a verdict as well.
func TestErrorIsShownBesideAVerdict(t *testing.T) {
	broken := errors.New("broken")
	if _, shown := codeOf(conclude(outcome(evidence.Fail, false), broken)); !errors.Is(shown, broken) {
		t.Errorf("shown: %v", shown)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { panic("a defect") }

// A defect looks like neither success nor bad input, and says where it is.
func TestPanicIsAFailure(t *testing.T) {
	var said strings.Builder
	code := execute(t.Context(), []string{"scenarios", "list"}, console.Streams{Out: brokenWriter{}, Err: &said})
	if code != exitHarness || !strings.Contains(said.String(), "a bug in locklab: ") ||
		!strings.Contains(said.String(), "(*listCmd).Run") {
		t.Errorf("exit code %d\n%s", code, said.String())
	}
}
