package compare

import (
	"bytes"
	"fmt"
	"strings"

	"locklab/reports/junit"
)

// writeMarkdown writes a comment for a pull request or a merge request: what happened in a sentence that a person
// understands, where to see it, the metrics that gate in a table, and the rest folded.
func writeMarkdown(w *bytes.Buffer, r Report) error {
	return layout.ExecuteTemplate(w, "markdown.tmpl", r)
}

// rows are the rows of a table of the metrics that gate, or of the others.
func (r *Report) rows(gates bool) (all []string) {
	for i := range r.Metrics {
		l := &r.Metrics[i]
		if l.Gates != gates || !l.shown() {
			continue
		}
		verdict := string(l.Verdict)
		if r.Verdict == Violation && l.Verdict == Inconclusive {
			verdict = "not judged" // speed matters once the lock is safe
		} else if gates && l.Verdict != Pass {
			verdict = "**" + verdict + "**"
		}
		all = append(all, l.named()+" | "+strings.Join(l.cells(), " | ")+" | "+verdict)
	}
	return all
}

// named writes the metric's name, with words for a reader who does not know it.
func (l *Line) named() string {
	for prefix, says := range map[string]string{
		"handoff.": "from a release to the next client's grant", "acquire.": "from asking for the lock to having it",
		"acquired_per_s": "locks given out", "server.requests": "requests to the servers per acquisition",
		"operations.not_acquired": "attempts that got no lock",
	} {
		if strings.HasPrefix(l.Name, prefix) {
			return "`" + l.Name + "`<br>" + says
		}
	}
	return "`" + l.Name + "`"
}

// writeGitHub writes workflow commands, which annotate a run of GitHub Actions.
func writeGitHub(w *bytes.Buffer, r Report) error {
	say := func(level, title, text string) {
		fmt.Fprintf(w, "::%s title=%s::%s\n", level, property(title), message(text))
	}
	say(levelOf(r.Verdict), "locklab: "+string(r.Verdict), r.Reason)
	for _, v := range r.Violations {
		say("error", "locklab: violation", v)
	}
	for _, l := range r.Metrics {
		if l.Gates && (l.Verdict == Regressed || l.Verdict == Inconclusive) {
			say(levelOf(l.Verdict), fmt.Sprintf("locklab: %s %s", l.Name, l.Verdict), l.Reason)
		}
	}
	for _, warning := range r.Warnings {
		say("warning", "locklab", warning)
	}
	return nil
}

func levelOf(v Verdict) string {
	switch v {
	case Regressed, Violation:
		return "error"
	case Pass, Improved:
		return "notice"
	}
	return "warning"
}

// message and property escape characters that would end a workflow command or a part of it.
func message(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}

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
