package secondopinion

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"locklab/harness/check"
	"locklab/harness/check/evidence"
	"locklab/harness/history"
)

// The limits beyond which Porcupine has no opinion. Its memory grows with the square of the number of operations, and
// its time exponentially where many of them overlap.
const (
	MaxOperations = 2_000
	MaxTime       = 5 * time.Second // for each question
)

// maxWindows bounds how many findings of one lock are judged in windows of their own.
const maxWindows = 20

// An Answer is what a judge says to a question.
type Answer string

// The answers. A judge that has no opinion agrees with every other.
const (
	Yes  Answer = "yes"
	No   Answer = "no"
	None Answer = "no opinion"
)

// An Opinion is what both judges say to one question.
type Opinion struct {
	Question string
	Lock     string
	// From and Until bound the window that was judged, in ns on the run's base; both are 0 if it was the whole run.
	From, Until   int64
	Sweep, Second Answer
	Operations    int    // that Porcupine was given
	Why           string // why a judge has no opinion
	Took          time.Duration

	_ struct{}
}

// Disagree reports whether both judges have an opinion, and not the same one.
func (o Opinion) Disagree() bool { return o.Sweep != None && o.Second != None && o.Sweep != o.Second }

func (o Opinion) String() string {
	where := o.Lock
	if o.Until != 0 {
		where += fmt.Sprintf(" from %.6f s to %.6f s", float64(o.From)/1e9, float64(o.Until)/1e9)
	}
	s := fmt.Sprintf("%s: %s sweep: %s; Porcupine: %s", where, o.Question, o.Sweep, o.Second)
	if o.Operations > 0 {
		s += fmt.Sprintf(" (%d operations, %s)", o.Operations, o.Took.Round(time.Millisecond))
	}
	if o.Why != "" {
		s += ": " + o.Why
	}
	return s
}

// Ask judges a merged history a second time and compares the answers with those of the report, which [check.Run] made
// of the same events and facts. It changes none of its arguments. Where hosts have different clocks it asks nothing,
// because Porcupine takes all times for those of one clock.
func Ask(events *history.Log, facts evidence.Facts, report *check.Report) []Opinion {
	if events.Clocks() != nil {
		return nil
	}
	all := askExclusion(events, facts, report)
	if facts.Lists {
		return append(all, askPrefixes(events, facts, report)...)
	}
	return append(all, askCounters(events, facts, report)...)
}

// answer turns a fact into an answer.
func answer(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}

// findings returns the findings of a check that are of that kind, by lock, and whether the report has all of them.
func findings(report *check.Report, name string, kind evidence.Kind) (byLock map[string][]evidence.Finding, all bool) {
	v := report.Check(name)
	byLock = map[string][]evidence.Finding{}
	if v == nil {
		return byLock, false
	}
	n := int64(0)
	for _, f := range v.Findings {
		if f.Kind == kind {
			byLock[f.Lock] = append(byLock[f.Lock], f)
			n++
		}
	}
	return byLock, n == v.Count
}

// A judgement is what Porcupine says of a list of operations.
type judgement struct {
	legal      Answer // whether the operations can be put into an order that the model allows
	operations int
	why        string
	took       time.Duration
}

// limits are those of one question.
type limits struct {
	operations int
	time       time.Duration
}

var usual = limits{MaxOperations, MaxTime}

// judge asks Porcupine, unless there are too many operations.
func (l limits) judge(model porcupine.Model, ops []porcupine.Operation) judgement {
	j := judgement{legal: None, operations: len(ops)}
	if len(ops) > l.operations {
		j.why = fmt.Sprintf("%d operations are more than %d", len(ops), l.operations)
		return j
	}
	begun := time.Now()
	result := porcupine.CheckOperationsTimeout(model, ops, l.time)
	j.took = time.Since(begun)
	switch result {
	case porcupine.Ok:
		j.legal = Yes
	case porcupine.Illegal:
		j.legal = No
	default:
		j.why = fmt.Sprintf("it found no answer within %s", l.time)
	}
	return j
}

// illegal is the answer to the question whether the model was broken.
func (j judgement) illegal() Answer {
	switch j.legal {
	case Yes:
		return No
	case No:
		return Yes
	}
	return None
}
