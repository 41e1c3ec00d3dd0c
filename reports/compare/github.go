package compare

import (
	"bytes"
	"fmt"
	"strings"
)

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
