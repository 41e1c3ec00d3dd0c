package compare

import (
	"bytes"
	"strings"

	"locklab/reports/junit"
)

// writeJUnit writes a test case for the whole, one for the head's safety, and one for each metric that gates. An
// inconclusive one is an error, and one that no run has is skipped, because a test that passes would say that something
// had been shown.
func writeJUnit(w *bytes.Buffer, r Report) error {
	suite := junit.Suite{Name: "locklab compare", Class: "locklab.compare"}
	add := func(name string, v Verdict, reason string) {
		switch v {
		case Regressed, Violation:
			suite.Fail(name, string(v), reason)
		case Inconclusive:
			suite.Error(name, string(v), reason)
		case NotMeasured:
			suite.Skip(name, reason)
		default:
			suite.Pass(name, reason)
		}
	}
	add("verdict", r.Verdict, r.Reason)
	safety := Pass
	if len(r.Violations) > 0 {
		safety = Violation
	}
	add("safety", safety, strings.Join(r.Violations, "\n"))
	for _, l := range r.Metrics {
		if l.Gates {
			add(l.Name, l.Verdict, l.Reason)
		}
	}
	return suite.Write(w)
}
