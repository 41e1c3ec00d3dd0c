package compare

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"locklab/harness/rundir"
	"locklab/reports/junit"
	"locklab/reports/words"
)

// writeMarkdown writes a comment for a pull request or a merge request: what happened in a sentence that a person
// understands, where to see it, the metrics that gate in a table, and the rest folded.
func writeMarkdown(w *bytes.Buffer, r Report) error {
	if r.Says != "" {
		fmt.Fprintf(w, "**%s**\n\nTo see it: %s, whose picture is the first thing on the page.\n\n", words.Markdown(r.Says),
			r.seen(path.Join(r.Saw, rundir.ReportFile)))
	}
	fmt.Fprintf(w, "### locklab: %s\n\n%s\n", r.Verdict, words.Markdown(r.Reason))
	for _, v := range r.Violations {
		fmt.Fprintf(w, "\n- **violation**: %s", words.Markdown(v))
	}
	if len(r.Violations) > 0 {
		fmt.Fprintln(w)
	}
	table := func(gates bool) {
		fmt.Fprint(w, "\n| metric | base | head | ratio (interval) | tolerated | p | verdict |\n"+
			"|---|---:|---:|---:|---:|---:|---|\n")
		for _, l := range r.Metrics {
			if l.Gates != gates || !l.shown() {
				continue
			}
			verdict := string(l.Verdict)
			if r.Verdict == Violation && l.Verdict == Inconclusive {
				verdict = "not judged" // speed matters once the lock is safe
			} else if gates && l.Verdict != Pass {
				verdict = "**" + verdict + "**"
			}
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s |\n", l.named(), amount(l.BaseMedian, l.Unit),
				amount(l.HeadMedian, l.Unit), l.ratio(), l.tolerated(), l.p(), verdict)
		}
	}
	if len(r.Metrics) > 0 {
		table(true)
		fmt.Fprintf(w, "\n%s\n", words.Markdown(r.Measured))
	}
	fmt.Fprintf(w, "\n<details><summary>%s against %s</summary>\n", runs(r.Head.Runs), runs(r.Base.Runs))
	if len(r.Metrics) > 0 {
		table(false)
		fmt.Fprintf(w, "\n%s\n", r.legend())
	}
	fmt.Fprintf(w, "\n- base: %s\n- head: %s\n", words.Markdown(sideLine(r.Base)), words.Markdown(sideLine(r.Head)))
	for _, n := range r.notes() {
		fmt.Fprintf(w, "- %s\n", words.Markdown(n))
	}
	_, err := fmt.Fprintln(w, "\n</details>")
	return err
}

// named writes the metric's name, with words for a reader who does not know it.
func (l *Line) named() string {
	for prefix, says := range map[string]string{
		"handoff.": "from a release to the next client's grant", "acquire.": "from asking for the lock to having it",
		"acquired_per_s": "locks given out", "server.requests": "requests that the lock sends to the servers",
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
