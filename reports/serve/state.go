package serve

import (
	"os"

	"locklab/harness/rundir"
	"locklab/reports/result"
)

// A state is what has become of a run: its outcome, or why it has none.
type state string

// The states of runs without an outcome.
const (
	running    state = "running"
	unjudged   state = "not-judged" // its harness was killed, or judges it just now
	unreadable state = "unreadable"
)

// states are all states, in the order in which a reader can choose one, with what they are called.
var states = []struct {
	State state
	Text  string
}{
	{running, "Running"},
	{state(result.Violation), "Fail: violation"},
	{state(result.ThresholdMissed), "Fail: threshold missed"},
	{state(result.DamageShown), "Damage shown, as expected"},
	{state(result.AsExpected), "Pass"},
	{state(result.Inconclusive), "Unknown"},
	{unjudged, "Not judged"},
	{unreadable, "Unreadable"},
}

// Text is what the state is called.
func (s state) Text() string {
	for _, o := range states {
		if o.State == s {
			return o.Text
		}
	}
	return "Unknown"
}

// Class is the class of the state's text on a page.
func (s state) Class() string {
	switch s {
	case state(result.AsExpected):
		return "pass"
	case state(result.Violation), state(result.ThresholdMissed):
		return "fail"
	case running:
		return "running"
	}
	return "unknown"
}

// Judged reports whether the run has an outcome.
func (s state) Judged() bool { return s != running && s != unjudged && s != unreadable }

// state finds out what has become of the run.
func (r *run) state(root *os.Root) state {
	if r.Why == "" && len(r.Result.Checks) > 0 {
		for _, s := range states {
			if s.State == state(r.Result.Outcome) && s.State.Judged() {
				return s.State
			}
		}
		return state(result.Inconclusive)
	}
	d, err := root.Open(r.Name)
	if err == nil {
		defer d.Close()
		if rundir.Lasts(d) {
			return running
		}
	}
	if r.Why != "" {
		return unreadable
	}
	return unjudged
}
