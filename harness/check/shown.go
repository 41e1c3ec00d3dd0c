package check

import (
	"fmt"
	"strings"
)

// Shown names the check that this file defines.
const Shown = "shown"

var shownCheck = Check{
	Name:    Shown,
	Asks:    "did the run show what it set out to show?",
	Subject: "what the scenario set out to show",
	OfRun:   true,
	judge:   judgeShown,

	readsCounters: true,
}

// judgeShown asks whether the run showed what [Facts.AtLeast] asks of it. If it did not, the verdict is unknown and
// not fail: nothing is broken, the run was just not worth much.
func judgeShown(d *digest, s *Safety) Verdict {
	if len(d.facts.AtLeast) == 0 {
		return Verdict{Result: NotApplicable, Summary: "the scenario does not ask for anything to be shown"}
	}
	numbers := map[string]*int64{}
	for _, c := range Counters() {
		numbers[c.Name] = c.Of(s)
	}
	v := Verdict{Result: Pass}
	var parts []string
	for _, name := range sortedKeys(d.facts.AtLeast) {
		want := d.facts.AtLeast[name]
		n, known := numbers[name]
		got := "not a known counter"
		switch {
		case known && n == nil:
			got = "not measured"
		case known:
			got = fmt.Sprint(*n)
		}
		if !known || n == nil || *n < want {
			v.Result = Unknown
			v.Count++
		}
		parts = append(parts, fmt.Sprintf("%s: %s, wanted at least %d", name, got, want))
	}
	v.Summary = strings.Join(parts, "; ")
	return v
}
