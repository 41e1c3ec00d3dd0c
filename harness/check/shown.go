package check

import (
	"fmt"
	"strings"

	"locklab/harness/check/evidence"
)

var shownCheck = evidence.Check{
	Name:    evidence.Shown,
	Asks:    "did the run show what it set out to show?",
	Subject: "what the scenario set out to show",
	OfRun:   true,
	Judge:   judgeShown,

	ReadsCounters: true,
}

// judgeShown asks whether the run showed what [evidence.Facts.AtLeast] asks of it. If it did not, the verdict is
// unknown and not fail: nothing is broken, the run was just not worth much.
func judgeShown(d *evidence.Digest, s *evidence.Safety) evidence.Verdict {
	if len(d.Facts.AtLeast) == 0 {
		return evidence.Verdict{Result: evidence.NotApplicable, Summary: "the scenario does not ask for anything to be shown"}
	}
	numbers := map[string]*int64{}
	for _, c := range evidence.Counters() {
		numbers[c.Name] = c.Of(s)
	}
	v := evidence.Verdict{Result: evidence.Pass}
	var parts []string
	for _, name := range evidence.SortedKeys(d.Facts.AtLeast) {
		want := d.Facts.AtLeast[name]
		n, known := numbers[name]
		got := "not a known counter"
		switch {
		case known && n == nil:
			got = "not measured"
		case known:
			got = fmt.Sprint(*n)
		}
		if !known || n == nil || *n < want {
			v.Result = evidence.Unknown
			v.Count++
		}
		parts = append(parts, fmt.Sprintf("%s: %s, wanted at least %d", name, got, want))
	}
	v.Summary = strings.Join(parts, "; ")
	return v
}
