package export

import (
	"io"

	"locklab/harness/check/evidence"
	"locklab/reports/junit"
	"locklab/reports/result"
)

var junitFormat = Format{Name: "junit", Has: "a test case for the verdict, each check and each threshold",
	For:    "tools that collect the results of tests (JUnit’s XML)",
	Reader: "junitparser", write: writeJUnit}

// writeJUnit writes a test case for each thing that the verdict depends on. An unknown result is an error, because a
// test that passes would say that something had been shown.
func writeJUnit(w io.Writer, in result.Input) error {
	r := &in.Result
	suite := junit.Suite{Name: "locklab " + r.Scenario, Class: "locklab." + r.Scenario}
	add := func(name string, outcome evidence.Result, says string) {
		switch outcome {
		case evidence.Fail:
			suite.Fail(name, string(outcome), says)
		case evidence.Unknown:
			suite.Error(name, string(outcome), says)
		case evidence.NotApplicable:
			suite.Skip(name, says)
		default:
			suite.Pass(name, says)
		}
	}
	add("verdict", r.Verdict, r.Headline)
	for _, c := range r.Checks {
		outcome := c.Outcome
		if c.Idle() {
			outcome = evidence.NotApplicable
		}
		add(c.Name, outcome, "expected "+string(c.Expected)+", found "+string(c.Result)+": "+c.Summary)
	}
	for _, t := range r.Thresholds {
		says := "the value is " + t.Shown()
		if t.Verdict != evidence.Pass {
			says = t.Reason
		}
		add(t.Expr, t.Verdict, says)
	}
	return suite.Write(w)
}
