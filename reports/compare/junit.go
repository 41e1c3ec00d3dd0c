package compare

import (
	"bytes"
	"encoding/xml"
	"strings"
)

type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Failure *junitFault `xml:"failure"`
	Error   *junitFault `xml:"error"`
	Out     string      `xml:"system-out,omitempty"`
}

type junitFault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
}

// writeJUnit writes a test case for the whole, one for the head's safety, and one for each metric that gates. An
// inconclusive one is an error, because a test that passes would say that something had been shown.
func writeJUnit(w *bytes.Buffer, r Report) error {
	suite := junitSuite{Name: "locklab compare"}
	add := func(name string, v Verdict, reason string) {
		c := junitCase{Class: "locklab.compare", Name: name, Out: reason}
		switch v {
		case Regressed, Violation:
			c.Failure = &junitFault{reason, string(v)}
			suite.Failures++
		case Inconclusive:
			c.Error = &junitFault{reason, string(v)}
			suite.Errors++
		}
		suite.Tests++
		suite.Cases = append(suite.Cases, c)
	}
	add("verdict", r.Verdict, r.Reason)
	safety := Pass
	if len(r.Violations) > 0 {
		safety = Violation
	}
	add("safety", safety, strings.Join(r.Violations, "\n"))
	for _, l := range r.Metrics {
		if l.Gates && l.Verdict != NotMeasured {
			add(l.Name, l.Verdict, l.Reason)
		}
	}
	w.WriteString(xml.Header)
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(junitSuites{Tests: suite.Tests, Failures: suite.Failures, Errors: suite.Errors,
		Suite: suite}); err != nil {
		return err
	}
	return w.WriteByte('\n')
}
