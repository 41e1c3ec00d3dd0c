// Package junit writes the XML of JUnit, which tools that collect the results of tests read.
//
// In flow: test cases. Out flow: one document with one suite.
package junit

import (
	"encoding/xml"
	"io"
)

// A Suite is a document with one suite of test cases.
type Suite struct {
	Name, Class string
	cases       []Case
	failures    int
	errors      int
	skipped     int
}

// A Document is what [Suite.Write] writes, for readers.
type Document struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Suite    suite    `xml:"testsuite"`
}

type suite struct {
	Name     string `xml:"name,attr"`
	Tests    int    `xml:"tests,attr"`
	Failures int    `xml:"failures,attr"`
	Errors   int    `xml:"errors,attr"`
	Skipped  int    `xml:"skipped,attr"`
	Cases    []Case `xml:"testcase"`
}

// A Case is a test case: it passed unless it has a Failure or an Error, or was Skipped.
type Case struct {
	Class   string `xml:"classname,attr"`
	Name    string `xml:"name,attr"`
	Failure *fault `xml:"failure"`
	Error   *fault `xml:"error"`
	Skipped *skip  `xml:"skipped"`
	Out     string `xml:"system-out,omitempty"`
}

type skip struct {
	Message string `xml:"message,attr"`
}

type fault struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
}

// Pass adds a case that passed. out is shown with it and may be empty.
func (s *Suite) Pass(name, out string) { s.add(Case{Name: name, Out: out}) }

// Fail adds a case that failed. kind is the failure's type.
func (s *Suite) Fail(name, kind, message string) {
	s.failures++
	s.add(Case{Name: name, Failure: &fault{message, kind}, Out: message})
}

// Error adds a case that came to no result, so that nobody takes it for one that passed.
func (s *Suite) Error(name, kind, message string) {
	s.errors++
	s.add(Case{Name: name, Error: &fault{message, kind}, Out: message})
}

// Skip adds a case that did not apply.
func (s *Suite) Skip(name, message string) {
	s.skipped++
	s.add(Case{Name: name, Skipped: &skip{message}, Out: message})
}

func (s *Suite) add(c Case) {
	c.Class = s.Class
	s.cases = append(s.cases, c)
}

// Write writes the document.
func (s *Suite) Write(w io.Writer) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(Document{Tests: len(s.cases), Failures: s.failures, Errors: s.errors,
		Skipped: s.skipped, Suite: suite{s.Name, len(s.cases), s.failures, s.errors, s.skipped, s.cases}}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
