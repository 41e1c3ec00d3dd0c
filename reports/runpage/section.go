package runpage

import (
	_ "embed"
	"fmt"
	"strings"

	"locklab/harness/check/evidence"
	"locklab/reports/chart"
	"locklab/reports/doc"
	"locklab/reports/words"
	"locklab/workloads/guard"
)

// A section is a part of the page below the first screen. It can be folded to its title and Brief.
type section struct {
	ID, Title string
	Brief     string // what it comes to, in a few words
	Open      bool   // it is not folded at first
	Parts     []part
}

// A part of a section is one of these.
type part struct {
	Heading string
	Note    string
	List    []string
	Table   *doc.Table
	Picture *chart.Picture
	Groups  []findingGroup
}

// note adds a part with a text, unless it is empty.
func (s *section) note(text string) {
	if text != "" {
		s.Parts = append(s.Parts, part{Note: text})
	}
}

//go:embed texts.tmpl
var textsText string

// texts has the page's longer texts.
var texts = doc.NewProse(textsText, map[string]any{
	"duration": duration, "number": number, "real": real, "count": count, "grouped": words.Grouped,
	"instant": words.Instant,
	"span":    func(from, to int64) string { return words.Duration(to - from) },
	"join":    func(all []string) string { return strings.Join(all, ", ") },
	"open":    func(sentence string) string { return strings.TrimSuffix(sentence, ".") },
	"numbers": func(all []int) string { return strings.Trim(fmt.Sprint(all), "[]") },
	"manual":  func() string { return guard.Manual },
})

// prose adds a part for each line of a text.
func (s *section) prose(name string, data any) {
	for _, line := range texts.Lines(name, data) {
		s.note(line)
	}
}

func (s *section) table(t *doc.Table) {
	if len(t.Rows) > 0 {
		s.Parts = append(s.Parts, part{Table: t})
	}
}

// picture adds a picture, or says why it is missing.
func (s *section) picture(p chart.Picture) {
	if p.Element != "" {
		s.Parts = append(s.Parts, part{Picture: &p})
		return
	}
	s.note(p.Absent)
}

func duration(ns *int64) string { return words.Known(ns, words.Duration) }

func number(n *int64) string { return words.Known(n, words.Grouped) }

func real(v *float64) string { return words.Known(v, words.Digits3) }

// at is a time of the run.
func at(ns *int64) string { return words.Known(ns, words.Instant) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// met says whether something came out as it should.
func met(outcome evidence.Result) string {
	switch outcome {
	case evidence.Pass:
		return "yes"
	case evidence.Fail:
		return "no"
	}
	return "unknown"
}
